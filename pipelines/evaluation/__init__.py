"""Dataset, assistant, score: lets an assistant live through a release and measures its memory. Knows nothing of Dagster."""
