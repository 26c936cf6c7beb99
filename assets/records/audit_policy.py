"""How a finished user is audited, as part of the recipe."""

from pydantic import Field

from assets.records.base import Record


class AuditPolicy(Record):
    """What independent judges audit of a finished user. `enabled: false` asks nothing and leaves the audit empty."""

    enabled: bool = True
    decoys: int = Field(default=2, ge=0, le=1000, description="texts under wrong labels per gate, half as many under right")
    pairs: int = Field(default=6, ge=0, le=1000, description="question and variant pairs recovered in both directions")
    guesses: int = Field(default=1, ge=0, le=100, description="guesses at each question, of each of three kinds")
    tries: int = Field(default=3, ge=1, le=15, description="readings of a pair that its first judge did not recover")
    min_recovery: float = Field(default=0.3, ge=0, le=1, description="share of its readings a pair needs, else its user fails")
