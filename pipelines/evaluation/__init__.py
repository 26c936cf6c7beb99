"""Evaluation of a memory assistant on a release: dialogues, questions after every period, scores; without Dagster."""
