"""What a variant will cost, forecast from what earlier runs used."""
