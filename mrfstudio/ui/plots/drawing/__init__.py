"""What pyqtgraph draws of a plot; loaded behind the window's first picture."""
