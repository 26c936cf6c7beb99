"""The memories that come with the project, each after its paper, and how others are brought in."""
