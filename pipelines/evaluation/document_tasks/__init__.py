"""Memories evaluated on documents in turns: written turn by turn, evicted, asked; by the contract of all benchmarks."""
