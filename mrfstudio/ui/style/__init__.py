"""Theme, stylesheet, colours, colour maps, icons, words for numbers."""
