"""The stage `state_trajectory`: states over time, their constraints and measures."""
