"""Prompts tried on finished users: what a model makes of them, side by side for two models or two versions."""
