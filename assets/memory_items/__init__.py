"""What benchmarks of documents share: documents in turns, typed answers, lengths, ablation and its certificate."""
