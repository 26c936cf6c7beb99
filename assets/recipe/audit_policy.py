"""How a finished user is audited, as part of the recipe."""

from pydantic import Field

from assets.records.base import Record, unit


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
