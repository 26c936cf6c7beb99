"""Rules of code questions, stage by stage."""
