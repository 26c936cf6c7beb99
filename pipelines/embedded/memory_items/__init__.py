"""The embedded model's side of questions over documents: it words them, reads their steps, and answers."""
