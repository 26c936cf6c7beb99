"""What is checked of tool dialogues."""
