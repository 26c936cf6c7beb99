"""Definitions of your own, loaded beside ours: `dg scaffold defs dagster.asset mine.py` begins one."""
