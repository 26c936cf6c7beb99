"""What stands behind the ports: models, reply cache, ledger, stores; `open.py` opens it."""
