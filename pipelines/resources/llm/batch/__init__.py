"""Provider batch jobs: calls are queued, sent together at half the price, and their results collected."""
