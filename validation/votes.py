"""What the gates' records say of the texts that were kept."""

from collections import Counter
from collections.abc import Iterable

from assets.records.gate import GateName, GateRecord

Told = frozenset[tuple[str, str]]


def accepting_votes(records: Iterable[GateRecord], *, gate: GateName) -> Counter[tuple[str, Told]]:
    """How many votes accepted each text as telling exactly these values; a variable that must not be told has no value."""
    return Counter(
        (record.text, frozenset((name, value) for name, value in record.target.items() if value))
        for record in records
        if record.gate == gate and record.accepted
    )
