"""The model client: retries, limits, connections, error classes, embeddings and batch jobs."""
