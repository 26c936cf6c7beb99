"""How the embedded model words and reads facts of a user."""
