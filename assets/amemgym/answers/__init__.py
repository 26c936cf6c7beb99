"""The stage `answers`: variants of each question, answers and their gates."""
