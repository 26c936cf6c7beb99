"""Rules of deep research, stage by stage."""
