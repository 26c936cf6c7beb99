"""Replies to the prompts of an evaluation: the plain chat, memory work, and memory policies."""
