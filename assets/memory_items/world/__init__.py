"""Invented worlds that documents tell: relations, clusters of statements about them, and the words in which they are told."""
