"""What the quality report measures against: groups of fields of the recipe that decide no user's rows."""

from pydantic import Field

from assets.records.base import Record


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
