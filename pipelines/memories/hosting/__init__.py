"""Memories at work: where their code runs, and what is done with each before and after its calls."""
