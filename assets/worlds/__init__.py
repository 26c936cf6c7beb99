"""Worlds in which an agent acts, of every kind: their tools, the calls of them, and the steps of an episode."""
