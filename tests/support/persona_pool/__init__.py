"""A pool of synthetic personas of people in the USA, written by ourselves (CC0 1.0)."""
