"""The embedded model's side of deep research: it tells documents, words questions, and answers by reading documents."""
