"""A finished run checked after the fact: nothing of it is believed that can be computed again."""
