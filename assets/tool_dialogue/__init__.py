"""Tool dialogues: an agent that works for a company acts on what earlier sessions with a customer settled."""
