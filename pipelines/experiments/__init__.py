"""Experiments with the runner: comparison, leaderboards, self-evolution."""
