"""Publishing releases to the Hugging Face Hub and reading them back, checked."""
