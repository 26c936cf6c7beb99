"""Code of others runs here: in a process that the system bounds, and of which nothing is left when it has answered."""
