"""`amemgym ui`: Dagster's page and the project's own pages on one port, and the processes behind them."""
