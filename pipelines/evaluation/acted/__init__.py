"""Tasks in which an agent acts, for the runner."""
