"""What is checked of session questions."""
