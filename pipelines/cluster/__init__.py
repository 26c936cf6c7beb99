"""One chain over many machines: what workers share, and the services they need."""
