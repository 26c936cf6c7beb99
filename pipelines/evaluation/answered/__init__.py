"""How documents, and facts that end, are asked about."""
