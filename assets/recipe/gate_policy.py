"""How drafts are judged, as part of the recipe."""

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
