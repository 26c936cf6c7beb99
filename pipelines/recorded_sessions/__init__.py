"""Sessions of agents that others recorded: read in the forms that they come in, and replayed with a memory."""
