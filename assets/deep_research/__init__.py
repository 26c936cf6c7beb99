"""MEMGYM-DR: research questions whose hops stand in documents that have left the window when the question comes."""
