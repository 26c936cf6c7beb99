"""Recipes: what decides the rows, read from YAML, overridden in the launchpad, split into work units."""
