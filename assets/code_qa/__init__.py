"""MEMGYM-CODEQA: questions about a code base whose decisive facts stand in the notes of its developers."""
