"""Shared by benchmarks of documents: documents in turns, typed answers, lengths, ablation and its certificate."""
