"""Rules and quality report of tasks over documents in turns, shared by the benchmarks that have such tasks."""
