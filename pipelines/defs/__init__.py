"""Definitions of your own: every module in this folder is loaded beside ours. `dg scaffold defs dagster.asset mine.py` begins one."""
