"""Code of packages as it is executed: in a process of its own, under limits, one call after the other."""
