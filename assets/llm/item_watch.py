"""What a stage lets its run know of an item before the item is done: drafts, and that it may be lost."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from assets.records.base import ItemRecord


@dataclass(frozen=True)
class ItemWatch:
    """Whoever listens while a stage makes one item."""

    on_draft: Callable[[ItemRecord], None]
    on_risk: Callable[[], None]
    on_relief: Callable[[], None] = lambda: None


# Of the task that makes the item, and of all tasks that it starts.
WATCH: ContextVar[ItemWatch | None] = ContextVar("item_watch", default=None)


def show_draft(record: ItemRecord) -> None:
    """Show what the stage has of its record so far, unfinished or not judged yet, so that later stages can begin."""
    watch = WATCH.get()
    if watch is not None:
        watch.on_draft(record)


def warn_of_loss() -> None:
    """Say that the item is lost unless one of its last tries passes, so that a spare can begin."""
    watch = WATCH.get()
    if watch is not None:
        watch.on_risk()


def take_back_warning() -> None:
    """Say that the last try has passed, so that the spare can stop."""
    watch = WATCH.get()
    if watch is not None:
        watch.on_relief()
