"""The tables that any benchmark's release may have: the votes of the gates, and the items that were replaced."""

from pydantic import Field

from assets.records.base import Failure, FailureReason, GateRecord, Record, same_as


class GateVoteRow(Record):
    """One vote on one draft, numbered per item from 0; `released` is false for an item that was replaced."""

    user_id: str = Field(description="the item's id: in AMemGym the user's")
    number: int = Field(description="which of the item's votes, from 0")
    released: bool = Field(description="whether the item is part of the release; false for one that was replaced")
    gate: str = same_as(GateRecord, "gate")
    item_id: str = same_as(GateRecord, "item_id")
    draft: int = same_as(GateRecord, "draft")
    refinement: int = same_as(GateRecord, "refinement")
    vote: int = same_as(GateRecord, "vote")
    judge: str = same_as(GateRecord, "judge")
    text: str = same_as(GateRecord, "text")
    target: dict[str, str] = same_as(GateRecord, "target")
    reading: dict[str, str] = same_as(GateRecord, "reading")
    accepted: bool = same_as(GateRecord, "accepted")


class FailureRow(Record):
    """An item that was replaced; `position` counts from 0 in the sample."""

    user_id: str = Field(description="the item's id: in AMemGym the user's")
    position: int = Field(description="its place in the sample, from 0")
    stage: str = Field(description="where it could not be finished")
    reason: FailureReason = Field(description="the kind of reason")
    message: str = Field(description="the sentence that says why")
    last_reply: str = Field(description="the model's last reply")


def failure_row(failure: Failure) -> FailureRow:
    """One replaced user as a row; the votes on the way are rows of `gate_records`."""
    return FailureRow(user_id=failure.item_id, **failure.model_dump(exclude={"item_id", "gate_records"}))
