"""What is looked at closely in Converge."""
