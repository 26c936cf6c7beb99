"""The cost of a variant, forecast from what earlier runs used."""
