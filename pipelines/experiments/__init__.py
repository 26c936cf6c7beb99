"""Experiments with the runner: comparison, leaderboards, self-evolution, annotation, prompt trials, Inspect."""
