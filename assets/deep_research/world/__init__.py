"""The seeded fictional world of deep research: its names, its relations, and what a task's position decides."""
