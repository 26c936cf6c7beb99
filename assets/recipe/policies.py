"""The recipe's policies: how drafts are judged, how finished items are audited, what the quality report measures against."""

from typing import Literal, Self, cast

from pydantic import Field, model_validator

from assets.records.base import Name, Record, quantity

PAPER: dict[str, object] = {
    "votes": 1,
    "votes_needed": 1,
    "cannot_tell": False,
    "unexposed": False,
    "reverse": False,
    "consistency": False,
    "texts_per_call": 1,
}
MOST_VOTES = 15
ANSWER_GATES = ("recovery", "choice")  # an answer passes both of them


class GatePolicy(Record):
    """Rules for judging drafts, and limits on asking anything again.

    The policy "paper" is the paper's single forced choice; it settles the seven fields after it.
    """

    policy: Literal["standard", "paper"] = Field(default="standard", description="paper: one forced choice, nothing else")
    votes: int = quantity(
        2,
        "votes",
        ge=1,
        le=MOST_VOTES,
        description="judgements per draft; the choice gate, second of an answer's two, takes one less",
    )
    votes_needed: int = quantity(2, "votes", ge=1, le=MOST_VOTES, description="accepting judgements that a draft needs")
    cannot_tell: bool = Field(default=True, description="judges may say that the text does not settle it")
    unexposed: bool = Field(default=True, description="no judge may be able to read any other variable in a query")
    reverse: bool = Field(default=True, description="a judge who knows the state must choose the answer written for it")
    consistency: bool = Field(
        default=True, description="judges read choices, summaries and events against profile, state and each other"
    )
    texts_per_call: int = quantity(
        8, "texts", ge=1, le=50, description="texts of different periods or questions that a judge reads in one call"
    )
    max_refinements: int = quantity(3, "refinements", ge=0, le=20, description="times a refused draft is mended")
    max_redrafts: int = quantity(1, "redrafts", ge=0, le=5, description="times a text is drafted anew after that")
    max_reasks: int = quantity(3, "calls", ge=0, le=10, description="times a reply that breaks a rule is sent back")

    @property
    def texts(self) -> int:
        """The texts that an item may have: drafts, and refinements of each."""
        return (1 + self.max_refinements) * (1 + self.max_redrafts)

    def votes_for(self, gate: str) -> tuple[int, int]:
        """Return the votes that a text gets at most, and how many have to accept it.

        The choice gate takes one less of both: an answer has passed the votes of recovery before.
        """
        less = int(gate == ANSWER_GATES[-1] and self.votes_needed > 1)
        return self.votes - less, self.votes_needed - less

    @model_validator(mode="before")
    @classmethod
    def read_fields(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        given = dict(cast(dict[str, object], fields))
        return {**PAPER, **given} if given.get("policy") == "paper" else given

    @model_validator(mode="after")
    def fields_agree(self) -> Self:
        if self.policy == "paper":
            own = [name for name, value in PAPER.items() if getattr(self, name) != value]
            if own:
                raise ValueError(f"gates.policy is paper, which settles {own}; leave them out, or set gates.policy standard.")
        if self.votes_needed > self.votes:
            raise ValueError(f"gates.votes_needed is {self.votes_needed}, but gates.votes is only {self.votes}.")
        if self.unexposed and not self.cannot_tell:
            raise ValueError(
                "gates.unexposed is true, but judges may not say that they cannot tell; "
                "set gates.cannot_tell true or gates.unexposed false."
            )
        return self


# The users from which so many decoys each show that at most 5 % of wrong items are accepted (95 % confidence), if none is.
FEWEST_USERS = {1: 76, 2: 39, 3: 27, 4: 21, 5: 18, 6: 15, 7: 13, 8: 12, 9: 11, 10: 10}
MOST_DECOYS = 10
FEWEST_MEASURED = 6  # with fewer users even the most would leave a fifth open, and are not worth their calls


def decoys_per_user(users: int) -> int:
    """Return how many wrong items each of so many users needs at every gate."""
    if users < FEWEST_MEASURED:
        return 0
    for decoys, fewest in FEWEST_USERS.items():
        if users >= fewest:
            return decoys
    return MOST_DECOYS


class AuditPolicy(Record):
    """The audit of a finished user by independent judges. `enabled: false` asks nothing and leaves the audit empty."""

    enabled: bool = Field(default=True, description="whether finished users are audited at all")
    decoys: int | None = quantity(
        None,
        "items",
        ge=0,
        le=1000,
        description="a user's wrong items at each gate, taken through all their texts, and half as many right ones; null: by "
        "the number of users, as many as show that at most 5 % are accepted",
    )
    pairs: int = quantity(
        6, "pairs", ge=0, le=1000, description="questions at the end of a period, drawn at random, read in both directions"
    )
    guesses: int = quantity(1, "guesses", ge=0, le=100, description="at each question, of each of three kinds")
    tries: int = quantity(3, "readings", ge=1, le=15, description="readings of a pair that its first judge did not recover")
    min_ceiling: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="least that perfect memory must score on a user's sampled questions, else the user is replaced",
    )
    model: Name | None = Field(default=None, description="model that reads for the ceiling; null: the gates' judges")


class ShortcutPolicy(Record):
    """Limits of shortcut baselines, which answer without memory."""

    margin: float = Field(default=0.05, ge=0, le=1, description="accuracy above guessing that texts alone may give away")
    form_margin: float = Field(
        default=0.02, ge=0, le=1, description="accuracy above guessing that length, form or words alone may give away"
    )
    proven: bool = Field(
        default=False, description="whether a limit on form blocks too where too few users can show that it holds"
    )
    least_change: float = Field(
        default=0.15,
        gt=0,
        le=1,
        description="least share of right options that a period changes, so that the start does not tell them all",
    )


class DiversityPolicy(Record):
    """The likeness from which two questions count as near-duplicates."""

    near: float = Field(default=0.9, gt=0, le=1, description="likeness from which two questions ask nearly the same")
    embedding_model: str | None = Field(
        default="text-embedding-3-small", description="model that compares meanings; none: words alone are compared"
    )
