"""What independent judges say of one finished user: of planted wrong labels, and of what can be guessed."""

from typing import Literal

from assets.records.base import Name, Record, UserRecord
from assets.records.gate import GateName

Recovery = Literal["state_from_answer", "answer_from_state"]
Guess = Literal["options_only", "question_only", "profile_only"]
Probe = Literal[Recovery, Guess]


class Decoy(Record):
    """A text shown to a gate under a label of which the truth is known.

    `kind` names how it was made. The gate errs where `accepted` differs from `right`: a false accept or a false reject.
    """

    gate: GateName
    item_id: Name
    kind: Name
    text: str
    label: dict[str, str]
    right: bool
    accepted: bool
    readings: int


class Judgement(Record):
    """One answer of a judge to a question with its options.

    `period` is the period whose state counts, None where the state is a variant's own. `chosen` None: cannot tell.
    `sample` counts how often the same was asked before: an item that a judge misses is asked again.
    """

    probe: Probe
    question_id: Name
    period: int | None
    expected: Name
    chosen: Name | None
    sample: int = 0


class UserAudit(UserRecord):
    """All decoys and judgements of one user; judges that wrote or accepted the items saw none of these calls."""

    decoys: tuple[Decoy, ...] = ()
    judgements: tuple[Judgement, ...] = ()
