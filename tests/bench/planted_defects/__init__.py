"""`python -m tests.bench.planted_defects`: defects put into sound records, and how many of them the project's checks catch."""
