"""Scores of a run: metrics with intervals, failure diagnosis (section 3.3), paired comparison of runs."""
