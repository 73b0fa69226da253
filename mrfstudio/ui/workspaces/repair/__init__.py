"""Photographs repaired: what only this workspace shows."""
