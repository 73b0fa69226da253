"""What `studio.py` does before the studio exists. Standard library only."""
