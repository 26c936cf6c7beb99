"""A simulated model provider for tests and benches: the embedded model, slow, metered, failing, with a Batch API."""
