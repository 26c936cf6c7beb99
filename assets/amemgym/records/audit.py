"""Audits: judgements of finished users by independent judges, on decoys, recovery and guesses; and their rates."""

from typing import Literal

from pydantic import Field

from assets.amemgym.records.user import UserRecord
from assets.records.base import Name, Record

Recovery = Literal["state_from_answer", "answer_from_state"]
DIRECTIONS: tuple[Recovery, ...] = ("state_from_answer", "answer_from_state")
Guess = Literal["options_only", "question_only", "profile_only"]
Probe = Literal[Recovery, Guess]


class Decoy(Record):
    """A text under a label of which the truth is known, as one of the texts that an item of the user might have had.

    `kind` names how it was made. The gates err where `accepted` differs from `right`. A wrong item has as many texts as
    the gates' policy allows, and is falsely accepted when any of them is.
    """

    gate: str = Field(description="the gates that are tried: exposure, or those of an answer")
    item: int = Field(description="which item of the user's decoys it is a text of")
    place: int = Field(description="which text of the item, from 0")
    item_id: Name = Field(description="which query or answer of the user the text or its label is from")
    kind: Name = Field(description="how the label was made")
    text: str = Field(description="what the judges read")
    label: dict[str, str] = Field(description="the values that they should find in it")
    right: bool = Field(description="whether the label is the true one")
    accepted: bool = Field(description="whether the gates accepted the text under this label")
    readings: dict[str, int] = Field(description="by gate, how often the text was read")
    first_readings: dict[str, bool] = Field(description="by gate, whether the first reading of the text accepted the label")


class Judgement(Record):
    """One answer of a judge to a question with its options.

    `period` is the period whose state counts. `chosen` None: cannot tell. `sample` counts how often the same was asked
    before: an item that a judge misses is asked again.
    """

    probe: Probe = Field(description="the direction of the recovery, or what the guesser had")
    question_id: Name = Field(description="the question")
    period: int = Field(description="the period whose state counts")
    expected: Name = Field(description="the right choice")
    chosen: Name | None = Field(description="the judge's choice; none for: cannot tell")
    sample: int = Field(default=0, description="how often the same was asked before")


class QueryReading(Record):
    """A reading of a finished query, of all variables, by a judge."""

    item_id: Name = Field(description="which query of the user")
    recovered: bool = Field(description="whether all values of its label were read")
    leaked: dict[str, str] = Field(description="variables outside its label, with what was read")


class UserAudit(UserRecord):
    """All decoys and judgements of one user; judges that wrote or accepted the items saw none of these calls."""

    decoys: tuple[Decoy, ...] = Field(default=(), description="texts under labels of which the truth is known")
    judgements: tuple[Judgement, ...] = Field(default=(), description="recoveries and guesses, by period")
    queries: tuple[QueryReading, ...] = Field(default=(), description="finished queries, drawn at random and read again")
