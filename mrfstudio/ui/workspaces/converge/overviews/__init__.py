"""What shows the whole graph of Converge in another way."""
