"""Which items of a unit's reserve are begun, and which of them may stop again.

Each item that failed is replaced by the next one of the reserve, and by no other, whenever the failure becomes known. An item
that may fail is replaced the same way before it does. Where it passes after all, the last one that was begun is not needed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assets.recipe.loading import Unit


@dataclass
class Spares:
    """The reserve of one unit. `begin` starts the item at a position, and returns how to stop it; None: nothing is begun."""

    unit: Unit
    begin: Callable[[int], Callable[[], None]] | None = None
    failed: set[int] = field(default_factory=set[int])
    at_risk: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])  # with the stage in which it is
    # The items that assets are being made of, which nothing here begins or stops.
    taken: set[int] = field(default_factory=set[int])
    begun: dict[int, Callable[[], None]] = field(default_factory=dict[int, Callable[[], None]])

    def take(self, positions: Sequence[int], *, begin: Callable[[int], Callable[[], None]] | None) -> None:
        """Leave these items to the asset that is being made; from now on others begin with it."""
        self.begin = begin
        self.taken.update(positions)
        for position in positions:
            self.begun.pop(position, None)

    def note_failures(self, positions: Iterable[int]) -> None:
        self.failed.update(positions)
        self._settle()

    def note_risk(self, position: int, stage: str) -> None:
        self.at_risk.add((position, stage))
        self._settle()

    def note_pass(self, position: int, stage: str) -> None:
        """Note that the item has passed a stage, in which it may have been at risk."""
        if (position, stage) in self.at_risk:
            self.at_risk.remove((position, stage))
            self._settle()

    def _settle(self) -> None:
        """Begin and stop items, so that as many are under way as are wanted if all that may fail do."""
        alive = [position for position in self.unit.positions if position not in self.failed]
        endangered = {position for position, _ in self.at_risk} - self.failed
        wanted = set(alive[: len(self.unit.items) + len(endangered)])
        for position in self.unit.reserve:
            known = position in self.begun or position in self.taken
            if position in wanted and not known and self.begin is not None:
                self.begun[position] = self.begin(position)
            elif position in self.begun and position not in wanted and position not in self.failed:
                self.begun.pop(position)()
