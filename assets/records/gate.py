"""What the gates saw: every draft, vote and refinement."""

from typing import Literal

from assets.records.base import Name, Record

GateName = Literal["exposure", "recovery"]


class GateRecord(Record):
    """One vote on one draft. `target` is what should be read, `reading` what the judge read ("cannot tell" as "")."""

    gate: GateName
    item_id: Name
    draft: int
    refinement: int
    vote: int
    text: str
    target: dict[str, str]
    reading: dict[str, str]
    accepted: bool
