"""The commands of experiments, each under the name of what it runs."""
