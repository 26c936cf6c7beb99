"""What the embedded model does in code repairs."""
