"""What happens to a memory on one item, as a list of steps, and the one runner that plays such a list on any memory."""
