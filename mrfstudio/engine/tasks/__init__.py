"""What the headless commands run."""
