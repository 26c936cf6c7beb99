"""Code repairs: an agent repairs a function of a package by the rule that a team settled in earlier sessions."""
