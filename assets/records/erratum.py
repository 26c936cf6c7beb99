"""Errata: what the next release of a variant does about an item that people found wrong."""

from typing import Literal, Self

from pydantic import model_validator

from assets.records.base import Name, Record, Text

Action = Literal["note", "exclude"]
Outcome = Literal["applied", "noted", "outdated"]


class Erratum(Record):
    """One item, named by its keys in the flat tables, and what is done about it.

    "note" mentions it on the card; "exclude" leaves out a question, or the whole user where no question is named. A session
    cannot be excluded, because its values would never be exposed. `was` is the item's text when it was judged: where it has
    changed since, the erratum is outdated and changes nothing.
    """

    user_id: Name
    period: int | None = None
    session: int | None = None
    question_id: Name | None = None
    choice_id: Name | None = None
    action: Action = "note"
    reason: Text
    was: str = ""

    @model_validator(mode="after")
    def action_fits_the_item(self) -> Self:
        if self.choice_id and not self.question_id:
            raise ValueError("An option is named by question_id and choice_id together.")
        if (self.period is None) != (self.session is None):
            raise ValueError("A session is named by period and session together.")
        if self.question_id and self.session is not None:
            raise ValueError("One erratum is about a question or about a session, not about both.")
        if self.action == "exclude" and (self.session is not None or self.choice_id):
            raise ValueError("Only a question or a whole user can be excluded; note it instead.")
        return self

    @property
    def place(self) -> str:
        """The item as words, such as "question q01, option q01-c2"."""
        parts: list[str] = []
        if self.question_id:
            parts.append(f"question {self.question_id}")
        if self.choice_id:
            parts.append(f"option {self.choice_id}")
        if self.session is not None:
            parts.append(f"period {self.period}, session {self.session}")
        return ", ".join(parts) or "the whole user"


class SettledErratum(Record):
    """An erratum, and what became of it in a release."""

    erratum: Erratum
    outcome: Outcome
