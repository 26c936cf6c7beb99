"""What is released of deep research."""

from assets.memory_items.tasks import MemoryTask


class ResearchTask(MemoryTask):
    """An accepted research task."""
