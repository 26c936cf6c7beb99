"""Items of each benchmark as documents and questions, for harnesses that ingest and ask, and as sessions."""
