"""One try of one kind of defect: at which site, with or without the defect, and how texts are judged there."""

from dataclasses import dataclass

from assets.recipe.policies import GatePolicy


@dataclass(frozen=True)
class Settings:
    """How drafts are judged, and how often the scripted judge reads something else than there is."""

    gates: GatePolicy
    judge_error: float


@dataclass(frozen=True)
class Trial:
    """One site of one kind; without `planted` everything is sound there."""

    site: int
    planted: bool
    settings: Settings
