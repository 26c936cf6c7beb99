"""Session questions: what a team settled, gave up and agreed on in sessions whose calls were really run."""
