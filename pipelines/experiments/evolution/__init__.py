"""Self-evolution of an assistant's memory policy (section 5, App. E)."""
