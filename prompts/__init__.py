"""The words sent to language models: one strict template per call, and the loader."""
