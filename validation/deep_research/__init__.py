"""What must hold of deep research, stage by stage."""
