"""The embedded model: a small deterministic program behind an OpenAI-compatible API, so that all runs without a key."""
