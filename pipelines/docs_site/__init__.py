"""The documentation as a site: pages of the repository, and reference pages read off the code."""
