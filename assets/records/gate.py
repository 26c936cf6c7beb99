"""What the gates saw: every draft, vote and refinement."""

from typing import Literal

from assets.records.base import Name, Record

GateName = Literal["exposure", "recovery", "choice"]


class GateRecord(Record):
    """One vote on one draft. `target` is what should be read, `reading` what the judge read ("cannot tell" as "").

    exposure: the values of variables, from the query; a variable that it must not tell has the target "".
    recovery: the variant, from question and answer. choice: the variant whose answer the judge chose, knowing the state.
    `judge` is the model that read.
    """

    gate: GateName
    item_id: Name
    draft: int
    refinement: int
    vote: int
    judge: Name
    text: str
    target: dict[str, str]
    reading: dict[str, str]
    accepted: bool
