"""A seeded fictional world, made in parts: names, relations, and clusters of documents to be told."""
