"""What independent judges say of finished users: of decoys, and of what can be recovered or guessed; and the rates of that."""

from typing import Literal

from pydantic import Field

from assets.records.base import Name, Record, UserRecord
from assets.records.estimate import Estimate

Recovery = Literal["state_from_answer", "answer_from_state"]
Guess = Literal["options_only", "question_only", "profile_only"]
Probe = Literal[Recovery, Guess]


class Decoy(Record):
    """A text shown to a gate under a label of which the truth is known.

    `kind` names how it was made. The gate errs where `accepted` differs from `right`: a false accept or a false reject.
    """

    gate: str = Field(description="the gate that is tried")
    item_id: Name = Field(description="which query or answer of the user")
    kind: Name = Field(description="how the label was made")
    text: str = Field(description="what the judges read")
    label: dict[str, str] = Field(description="what they are told to find in it")
    right: bool = Field(description="whether the label is the true one")
    accepted: bool = Field(description="whether the gate accepted the text under this label")
    readings: int = Field(description="calls that this took")


class Judgement(Record):
    """One answer of a judge to a question with its options.

    `period` is the period whose state counts, None where the state is a variant's own. `chosen` None: cannot tell.
    `sample` counts how often the same was asked before: an item that a judge misses is asked again.
    """

    probe: Probe = Field(description="what the judge was shown")
    question_id: Name = Field(description="the question")
    period: int | None = Field(description="the period whose state counts; none where it is a variant's own")
    expected: Name = Field(description="the right choice")
    chosen: Name | None = Field(description="the judge's choice; none for: cannot tell")
    sample: int = Field(default=0, description="how often the same was asked before")


class UserAudit(UserRecord):
    """All decoys and judgements of one user; judges that wrote or accepted the items saw none of these calls."""

    decoys: tuple[Decoy, ...] = Field(default=(), description="texts under labels of which the truth is known")
    judgements: tuple[Judgement, ...] = Field(default=(), description="recoveries and guesses, one for each call")


class GateErrorRate(Record):
    """How often a gate erred on decoys of one kind; an empty `kind` stands for all kinds.

    `readings` counts the calls that the decoys took, `errors` the decoys that the gate got wrong.
    """

    gate: str
    error: Literal["false_accept", "false_reject"]
    kind: str
    decoys: int
    errors: int
    readings: int
    share: Estimate


class RecoveryRate(Record):
    """How often judges recovered what was meant, in one direction: all users, or one user's question.

    The line over all users has neither user nor question. Only the first sample of an item counts: an item is asked
    again only where a judge missed it, so that later samples would bias the rate.
    """

    probe: Recovery
    user_id: str
    question_id: str
    items: int
    recovered: int
    cannot_tell: int
    share: Estimate
