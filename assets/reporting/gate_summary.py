"""The way through the gates: by gate, how many items passed at once, after refining, and after a new draft."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from assets.records.base import Failure, GateRecord, ItemRecord
from assets.records.report import GateLine
from assets.reporting.asset_description import Row


def votes_of(record: ItemRecord) -> tuple[GateRecord, ...]:
    """The votes that a stage's record keeps; none of a stage without gates."""
    votes: tuple[GateRecord, ...] = getattr(record, "gate_records", ())
    return votes


class Gates:
    """Counts by gate: readings, and accepted items by what it took."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, votes: Iterable[GateRecord]) -> None:
        """Take one user's votes, those of an item in order."""
        last: dict[tuple[str, str], GateRecord] = {}
        for vote in votes:
            self._counts[vote.gate]["readings"] += 1
            if vote.accepted:
                last[vote.gate, vote.item_id] = vote
        for (gate, _), vote in last.items():
            taken = "once"
            if vote.draft:
                taken = "redrafting"
            elif vote.refinement:
                taken = "refining"
            self._counts[gate].update(("items", taken))

    def lines(self) -> Iterator[GateLine]:
        """One line for each gate, sorted by name."""
        for gate, counts in sorted(self._counts.items()):
            yield GateLine(
                gate=gate,
                items=counts["items"],
                readings=counts["readings"],
                passed_at_once=counts["once"],
                passed_after_refining=counts["refining"],
                passed_after_redrafting=counts["redrafting"],
            )


def gate_rows(records: Iterable[ItemRecord], lost: Iterable[Failure]) -> list[Row]:
    """Return a row for each gate, with the number of items on which users were given up."""
    gates = Gates()
    for record in records:
        gates.add(votes_of(record))
    given_up = Counter(failure.gate_records[-1].gate for failure in lost if failure.gate_records)
    rows: list[Row] = []
    for line in gates.lines():
        row: Row = {
            "gate": line.gate,
            "items": line.items,
            "at once": _share(line.passed_at_once, line.items),
            "refined": _share(line.passed_after_refining, line.items),
            "redrafted": _share(line.passed_after_redrafting, line.items),
            "given up": given_up[line.gate],
            "readings": line.readings,
        }
        rows.append(row)
    return rows


def _share(count: int, whole: int) -> str:
    return f"{count} ({count / max(1, whole):.0%})"
