"""Experiments with the runner: comparison, leaderboards, self-evolution, annotation, prompts' yields."""
