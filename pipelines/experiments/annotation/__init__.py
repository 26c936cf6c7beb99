"""Human meta-evaluation as a kit: tasks from a release and a run, a page to annotate in, agreement, errata."""
