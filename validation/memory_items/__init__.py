"""What must hold of documents in turns, whichever benchmark they are of."""
