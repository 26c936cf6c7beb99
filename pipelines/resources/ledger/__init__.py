"""One row for each model call, budgets kept against it, and prices."""
