"""Commands that score memories: evaluate, compare, rank, gate, evolve, predict and export."""
