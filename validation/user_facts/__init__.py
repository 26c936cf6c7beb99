"""What is checked of user facts."""
