"""Language models as every benchmark uses them: ports, structured output, gates and usage."""
