"""The recipe's policies: how drafts are judged, how finished items are audited, what the quality report measures against."""

from typing import Literal, Self, cast

from pydantic import Field, model_validator

from assets.records.base import Record, unit

PAPER: dict[str, object] = {"votes": 1, "votes_needed": 1, "cannot_tell": False, "unexposed": 0, "reverse": False}


class GatePolicy(Record):
    """How drafts are judged and how often anything is asked again.

    The policy "paper" is the paper's single forced choice; it settles the five fields after it.
    """

    policy: Literal["standard", "paper"] = Field(default="standard", description="paper: one forced choice, nothing else")
    votes: int = Field(default=2, ge=1, le=15, description="judgements per draft", json_schema_extra=unit("votes"))
    votes_needed: int = Field(
        default=2, ge=1, le=15, description="accepting judgements that a draft needs", json_schema_extra=unit("votes")
    )
    cannot_tell: bool = Field(default=True, description="judges may say that the text does not settle it")
    unexposed: int = Field(
        default=3, ge=0, le=20, description="what no judge may be able to read in a query", json_schema_extra=unit("variables")
    )
    reverse: bool = Field(default=True, description="a judge who knows the state must choose the answer written for it")
    max_refinements: int = Field(
        default=3, ge=0, le=20, description="times a refused draft is mended", json_schema_extra=unit("refinements")
    )
    max_redrafts: int = Field(
        default=1, ge=0, le=5, description="times a text is drafted anew after that", json_schema_extra=unit("redrafts")
    )
    max_reasks: int = Field(
        default=3, ge=0, le=10, description="times a reply that breaks a rule is sent back", json_schema_extra=unit("calls")
    )

    @model_validator(mode="before")
    @classmethod
    def paper_settles_its_fields(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        given = cast(dict[str, object], fields)
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
                f"gates.unexposed is {self.unexposed}, but judges may not say that they cannot tell; "
                "set gates.cannot_tell true or gates.unexposed 0."
            )
        return self


class AuditPolicy(Record):
    """What independent judges audit of a finished user. `enabled: false` asks nothing and leaves the audit empty."""

    enabled: bool = Field(default=True, description="whether finished users are audited at all")
    decoys: int = Field(
        default=2,
        ge=0,
        le=1000,
        description="texts under wrong labels per gate, half as many under right",
        json_schema_extra=unit("decoys"),
    )
    pairs: int = Field(
        default=6,
        ge=0,
        le=1000,
        description="question and variant pairs recovered in both directions",
        json_schema_extra=unit("pairs"),
    )
    guesses: int = Field(
        default=1, ge=0, le=100, description="at each question, of each of three kinds", json_schema_extra=unit("guesses")
    )
    tries: int = Field(
        default=3,
        ge=1,
        le=15,
        description="readings of a pair that its first judge did not recover",
        json_schema_extra=unit("readings"),
    )
    min_recovery: float = Field(default=0.3, ge=0, le=1, description="share of its readings a pair needs, else its user fails")


class ShortcutPolicy(Record):
    """How far shortcut baselines, which answer without memory, may get. The recipe has it as its field `wall`."""

    margin: float = Field(default=0.05, ge=0, le=1, description="accuracy above guessing that texts alone may give away")
    least_change: float = Field(
        default=0.15, gt=0, le=1, description="share of right options that a period has to change, lest the start tell all"
    )


class DiversityPolicy(Record):
    """When two questions count as near-duplicates."""

    near: float = Field(default=0.9, gt=0, le=1, description="likeness from which two questions ask nearly the same")
    embedding_model: str | None = Field(
        default="text-embedding-3-small", description="model that compares meanings; none: words alone are compared"
    )
