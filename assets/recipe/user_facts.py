"""The recipe of user facts: how many facts a user tells, what becomes of them, and what is asked about them."""

import math
from datetime import date
from typing import ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from assets.recipe.recipe import MOST_ITEMS, FoundCheaply, Recipe
from assets.records.base import Record, quantity

# What becomes of a fact after it was told.
Fate = Literal["steady", "dependent", "ending", "replaced", "withdrawn", "narrowed", "merged", "as_before", "forgotten"]
FATES: tuple[Fate, ...] = get_args(Fate)
MOST_FACTS = 24
MOST_UNSAID = 4
LEAST_SESSIONS = 9
CHOICES = 4  # of a question
OF_ONE = 2  # facts at most that follow from the same one


class Dynamics(Record):
    """Shares of a user's facts by what becomes of them; the others stay as they were told."""

    dependent: float = Field(default=0.17, ge=0, le=0.3, description="facts that follow from another by a rule of the user")
    ending: float = Field(default=0.06, ge=0, le=0.5, description="facts that the user told with the day on which they end")
    replaced: float = Field(default=0.22, ge=0, le=0.8, description="facts that get new values")
    withdrawn: float = Field(default=0.11, ge=0, le=0.5, description="facts that the user takes back without a new value")
    narrowed: float = Field(default=0.06, ge=0, le=0.1, description="facts that become more exact")
    merged: float = Field(default=0.06, ge=0, le=0.15, description="facts that become the same as another one")
    as_before: float = Field(default=0.11, ge=0, le=0.5, description="facts that change, and are then as before")
    forgotten: float = Field(default=0.11, ge=0, le=0.5, description="facts that the user asks to forget")

    def counts(self, facts: int) -> dict[Fate, int]:
        """Return how many of so many facts have each fate; every share above 0 is one fact at least."""
        found: dict[Fate, int] = {}
        for fate in FATES[1:]:
            share: float = getattr(self, fate)
            found[fate] = max(1, round(share * facts)) if share else 0
        return {"steady": facts - sum(found.values()), **found}


class UserFactsRecipe(Recipe):
    """All parameters of a variant of user facts."""

    decide_which_items: ClassVar[frozenset[str]] = Recipe.decide_which_items | {"num_users", "users_per_unit"}
    decide_the_report: ClassVar[frozenset[str]] = frozenset({"max_not_known", "max_found_cheaply"})

    benchmark: Literal["user_facts"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="user_facts", description="the benchmark that the variant is of"
    )
    num_users: int = quantity(20, "users", ge=1, le=MOST_ITEMS, description="users in the variant")
    users_per_unit: int | None = quantity(
        None, "users", ge=1, description="size of the work units that the variant is split into"
    )
    num_facts: int = quantity(18, "facts", ge=8, le=MOST_FACTS, description="facts that a user tells")
    num_unsaid: int = quantity(2, "facts", ge=0, le=MOST_UNSAID, description="matters that are asked about and were never told")
    num_sessions: int = quantity(16, "sessions", ge=LEAST_SESSIONS, le=200, description="sessions of a user")
    others_per_session: int = quantity(
        0, "statements", ge=0, le=20, description="statements about other people's matters in each session, beside one of each"
    )
    talk_per_session: int = quantity(
        0, "sentences", ge=0, le=20, description="sentences of small talk in each session, in which no matter is spoken of"
    )
    max_changes: int = quantity(2, "changes", ge=1, le=3, description="new values of a replaced fact at most")
    start_date: date = Field(default=date(2031, 1, 6), description="day of the first session")
    days_between: int = quantity(14, "days", ge=2, le=200, description="days between two sessions, a day more or less")
    dynamics: Dynamics = Dynamics()
    max_not_known: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="share of questions that one guess may get right, as in always saying that it is not known",
    )
    max_found_cheaply: FoundCheaply = 1

    @model_validator(mode="after")
    def fates_fit(self) -> Self:
        counts = self.dynamics.counts(self.num_facts)
        steady = counts["steady"]
        least = max(1, counts["merged"])
        if steady < least:
            raise ValueError(
                f"dynamics gives {self.num_facts - steady} of {self.num_facts} facts a change; {least} at least has to stay: "
                "lower a share, or raise num_facts."
            )
        if self.max_not_known < self.right_by_guessing:
            others = (
                " or let fewer facts be forgotten, withdrawn, unsaid or end" if self.right_by_guessing > 1 / CHOICES else ""
            )
            raise ValueError(
                f"max_not_known is {self.max_not_known:g}, and a guess is right in about {self.right_by_guessing:.2f} of the "
                f"questions: set it higher{others}."
            )
        if self.num_deciding > counts["replaced"]:
            raise ValueError("dynamics.dependent is too high: at most two facts can follow from one that is replaced.")
        return self

    @property
    def num_deciding(self) -> int:
        """The facts that decide others."""
        return math.ceil(self.dynamics.counts(self.num_facts)["dependent"] / OF_ONE)

    @property
    def right_by_guessing(self) -> float:
        """The least share of questions that a guess gets right: one of the choices, or always that it is not known."""
        counts = self.dynamics.counts(self.num_facts)
        ended = counts["withdrawn"] + counts["ending"]
        # One question about the present of each, a day gone by, the course, and for half of them one with a premise.
        changed = counts["replaced"] + counts["as_before"]
        courses = changed + counts["merged"]
        premises = (self.num_facts - counts["dependent"] - counts["forgotten"]) / 2
        questions = self.num_facts + self.num_unsaid + changed + counts["ending"] + courses + premises
        unknown = ended + counts["forgotten"] + self.num_unsaid + ended / 2
        return max(1 / CHOICES, unknown / questions)

    @property
    def num_items(self) -> int:
        return self.num_users

    @property
    def items_per_unit(self) -> int | None:
        return self.users_per_unit
