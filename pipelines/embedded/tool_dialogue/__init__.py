"""What the embedded model writes and does in tool dialogues."""
