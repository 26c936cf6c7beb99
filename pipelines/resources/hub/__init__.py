"""The Hugging Face Hub: its client, and the settings, time limits and retries of its calls."""
