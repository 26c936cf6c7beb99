"""The embedded model's side of code questions: it writes a team's notes, and finds again what they state."""
