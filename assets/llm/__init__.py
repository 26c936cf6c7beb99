"""What every benchmark needs of language models: ports, structured output, gates and usage."""
