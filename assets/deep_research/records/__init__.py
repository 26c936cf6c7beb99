"""The records of the stages of deep research."""
