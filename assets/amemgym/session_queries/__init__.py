"""The stage `session_queries`: drafts of queries and their exposure gate."""
