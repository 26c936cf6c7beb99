"""Replies to the prompts of an evaluation: both sides of a plain chat, and memory work."""
