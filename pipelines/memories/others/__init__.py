"""Memories that others wrote: each in a process of its own, which is shown its own files and reaches nothing else."""
