"""What the gates' records say of the texts that were kept."""

from collections import Counter
from collections.abc import Iterable, Mapping

from assets.records.gate import GateName, GateRecord

Told = frozenset[tuple[str, str]]


def accepting_votes(records: Iterable[GateRecord]) -> Counter[tuple[GateName, str, Told]]:
    """How many votes of a gate accepted each text as telling exactly these values; what must not be told has no value."""
    return Counter((one.gate, one.text, _told(one.target)) for one in records if one.accepted)


def _told(target: Mapping[str, str]) -> Told:
    told = frozenset(target.items())
    return told if all(target.values()) else frozenset(pair for pair in told if pair[1])
