"""Agents that act in a world, one action at a time, whatever the world and whoever chooses the actions."""
