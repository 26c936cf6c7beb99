"""Experiments with the runner: comparison, leaderboards, self-evolution, prompts' yields."""
