"""Reports of runs, as Markdown and as pages."""
