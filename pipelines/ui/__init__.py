"""`amemgym ui`: Dagster's UI and the project's own pages on one port, and the processes that serve them."""
