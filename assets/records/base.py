"""The base of all records, frozen and with canonical bytes; the votes and the failures that any stage may leave behind."""

import hashlib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from assets.text.spacing import with_plain_spaces

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Prose = Annotated[Text, AfterValidator(with_plain_spaces)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Record(BaseModel):
    """Immutable; two equal records have equal `sha256`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def sha256(self) -> str:
        """sha256 of the record's canonical JSON, in hex."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class ItemRecord(Record):
    """A stage's record of one item. `id_field` names the field with the item's id, such as `user_id`."""

    id_field: ClassVar[str] = "item_id"

    @property
    def item_id(self) -> str:
        return getattr(self, self.id_field)

    @property
    def display_name(self) -> str:
        """The name by which a reader knows the item."""
        return self.item_id

    @property
    def own_texts(self) -> tuple[str, ...]:
        """The texts that no item of another variant has, such as its questions: a release is recognized by their digests."""
        return ()


def quantity(
    default: float | None,
    unit: str,
    *,
    description: str,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
) -> Any:
    """Return the field of a number that is counted in `unit`, with pydantic's bounds."""
    extra: dict[str, JsonValue] = {"unit": unit}
    return Field(default=default, description=description, ge=ge, gt=gt, le=le, json_schema_extra=extra)


def same_as(record: type[BaseModel], name: str) -> Any:
    """A field, such as a column, that holds the same as this field of another record: with its description."""
    return Field(description=record.model_fields[name].description)


def duplicates(items: tuple[str, ...] | list[str]) -> list[str]:
    """The items that occur more than once, in order of first repetition."""
    if len(set(items)) == len(items):  # nearly always, and asked whenever a record is read
        return []
    return list(dict.fromkeys(item for index, item in enumerate(items) if item in items[:index]))


class GateRecord(Record):
    """One vote on one draft. `target` is what should be read, `reading` what the judge read; what it cannot tell is left out.

    schema: choices that the profile denies, with why, questions that their variables do not decide, and what the profile
    contradicts in itself; target is none. summary: what it tells against the state, what it contradicts, and whether it
    leaves out its own period; target is none. event: the new values, and what it contradicts.
    exposure: the values of variables, from the query; a reading with others than the target's has found a leak.
    recovery: the variant, from question and answer. choice: the variant whose answer the judge chose, knowing the state.
    `judge` is the model that read.
    """

    gate: Name = Field(
        description="schema, summary, event, exposure, recovery or choice; of a user whom the audit lost: how it was read"
    )
    item_id: Name = Field(description="which query or answer of the user")
    draft: int = Field(description="how often it had been drafted anew")
    refinement: int = Field(description="how often this draft had been refined")
    vote: int = Field(description="which vote on this text, from 0")
    judge: Name = Field(description="the model that read")
    text: str = Field(description="what was read")
    target: dict[str, str] = Field(description="what should be read")
    reading: dict[str, str] = Field(description="what was read out of it; empty for: cannot tell")
    accepted: bool = Field(description="whether this vote accepts the text")


FailureReason = Literal["unparsable", "cut_off", "refused", "rule_violated", "gate_exhausted", "ambiguous", "call_failed"]


class Failure(Record):
    """An item given up at a stage, with the sentence that says why and the model's last reply."""

    item_id: Name
    position: int
    stage: str
    reason: FailureReason
    message: str
    last_reply: str
    gate_records: tuple[GateRecord, ...] = ()


class ItemFailed(Exception):
    """Raised inside a stage when this item cannot be finished; the stage's wrapper makes it a Failure."""

    def __init__(
        self, reason: FailureReason, message: str, *, last_reply: str = "", gate_records: list[GateRecord] | None = None
    ) -> None:
        super().__init__(message)
        self.reason: FailureReason = reason
        self.message = message
        self.last_reply = last_reply
        self.gate_records = tuple(gate_records or ())

    def at(self, stage: str, *, item_id: str, position: int) -> Failure:
        """Make the record of this failure."""
        return Failure(
            item_id=item_id,
            position=position,
            stage=stage,
            reason=self.reason,
            message=self.message,
            last_reply=self.last_reply,
            gate_records=self.gate_records,
        )
