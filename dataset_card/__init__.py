"""The claims: computed facts, the card around them, and the versioned release folder that carries both."""
