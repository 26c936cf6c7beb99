"""The stage `personas`: the pool and the seeded sample."""
