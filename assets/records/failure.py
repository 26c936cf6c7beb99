"""Why a user could not be finished: kept, counted, never dropped in silence."""

from typing import Literal

from assets.records.base import Name, Record
from assets.records.gate import GateRecord

FailureReason = Literal["unparsable", "cut_off", "refused", "rule_violated", "gate_exhausted", "ambiguous"]


class Failure(Record):
    """A user given up at a stage, with the sentence that says why and the model's last reply."""

    user_id: Name
    position: int
    stage: str
    reason: FailureReason
    message: str
    last_reply: str
    gate_records: tuple[GateRecord, ...] = ()


class ItemFailed(Exception):
    """Raised inside a stage when this user cannot be finished; the stage's wrapper makes it a Failure."""

    def __init__(
        self, reason: FailureReason, message: str, *, last_reply: str = "", gate_records: list[GateRecord] | None = None
    ) -> None:
        super().__init__(message)
        self.reason: FailureReason = reason
        self.message = message
        self.last_reply = last_reply
        self.gate_records = tuple(gate_records or ())

    def at(self, stage: str, *, user_id: str, position: int) -> Failure:
        """Make the record of this failure."""
        return Failure(
            user_id=user_id,
            position=position,
            stage=stage,
            reason=self.reason,
            message=self.message,
            last_reply=self.last_reply,
            gate_records=self.gate_records,
        )
