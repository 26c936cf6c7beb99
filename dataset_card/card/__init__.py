"""The card of a release: header, text, figures and Croissant metadata."""
