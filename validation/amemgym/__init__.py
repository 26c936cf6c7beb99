"""AMemGym: a module of rules per stage, expectations of its tables, its quality report."""
