"""The base of the records about one user."""

from typing import ClassVar

from pydantic import Field

from assets.records.base import ItemRecord, Name


class UserRecord(ItemRecord):
    """A record that one stage made for one user."""

    id_field: ClassVar[str] = "user_id"

    user_id: Name = Field(description="the persona's uuid")
