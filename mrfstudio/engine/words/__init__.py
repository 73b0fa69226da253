"""Markdown with TeX, made into values that window and web page show. One renderer, no network."""
