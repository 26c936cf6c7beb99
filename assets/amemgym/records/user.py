"""The base of the records about one user, and who is left out of a file."""

from typing import ClassVar

from pydantic import Field

from assets.records.base import ItemRecord, Name, Record


class UserRecord(ItemRecord):
    """A record that one stage made for one user."""

    id_field: ClassVar[str] = "user_id"

    user_id: Name = Field(description="the persona's uuid")


class LeftOut(Record):
    """A user of a file, or one of its questions, that cannot be used, and where in the item what is wrong."""

    user_id: str
    question_id: str = ""
    reason: str
