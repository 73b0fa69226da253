"""What the Help menu opens, and how actions are found by their keys and names."""
