"""What a memory is worth without a rollout: the rows of runs, values that need no model, and a fine-tuned language model."""
