"""What is checked of code repairs."""
