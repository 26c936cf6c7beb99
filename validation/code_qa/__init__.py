"""What must hold of code questions, stage by stage."""
