"""Implementations of the ports: models, reply cache, ledger, stores; `open.py` opens them."""
