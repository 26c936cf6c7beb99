"""The recipe: what every benchmark's variants have of counts, seeds, models and policies that decide the rows."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from assets.recipe.model_policy import ROLES, Models
from assets.recipe.policies import GatePolicy
from assets.records.base import Name, Record, unit

LANGUAGES = {"en": "English", "zh": "Simplified Chinese"}
# Field groups that decide when and how calls are made, but not what is asked and so no row.
ONLY_HOW_CALLS_ARE_MADE = {"budget": True, "models": {role: {"transport"} for role in ROLES}}
ONLY_WHOSE_POOL = {"paths", "license", "attribution"}
ONLY_WHICH_USERS = frozenset({"variant", "num_users", "num_reserve", "users_per_shard", "exclude_ids", "pool"})
# What is asked again of one user is in that user's `sample`, see `Recipe.for_stage`.
ONLY_SOME_USERS = frozenset({"again"})
ONLY_HOW_IT_IS_REPORTED = frozenset({"wall", "diversity"})

EVERYONE = "all"
S = TypeVar("S", bound=str)


def in_order(again: dict[Name, dict[S, PositiveInt]]) -> dict[Name, dict[S, PositiveInt]]:
    """Equal entries give equal bytes, in whatever order they were written."""
    return {user: dict(sorted(stages.items())) for user, stages in sorted(again.items())}


Again = Annotated[dict[Name, dict[Name, PositiveInt]], AfterValidator(in_order)]


def times_again(again: Mapping[str, Mapping[str, int]], *, stage: str, user_id: str) -> int:
    """How often this user's stage is asked anew: the entries of everyone and of the user add up."""
    return sum(again.get(who, {}).get(stage, 0) for who in (EVERYONE, user_id))


class PoolSpec(Record):
    """Where personas come from and how they are sampled. No paths: the project's own pool."""

    paths: tuple[str, ...] = Field(default=(), description="Parquet or JSONL files or globs")
    strategy: Literal["uniform", "stratified", "sql"] = Field(default="uniform", description="how personas are sampled")
    columns: tuple[str, ...] = Field(default=(), description="strata of the stratified strategy")
    query: str = Field(default="", description="SQL that selects uuid from the view `pool`, for the sql strategy")
    license: str = Field(default="", description="the license of the pool's personas, for the card")
    attribution: str = Field(default="", description="whom the card names as the pool's source")
    content: str = Field(default="", description="digest of the pool, filled in when the recipe is resolved")

    @model_validator(mode="after")
    def strategy_has_what_it_needs(self) -> Self:
        if (self.strategy == "stratified") != bool(self.columns):
            raise ValueError("pool.columns names the strata: give them with strategy 'stratified', and only there.")
        if (self.strategy == "sql") != bool(self.query):
            raise ValueError("pool.query holds the SQL: give it with strategy 'sql', and only there.")
        return self


class Budget(Record):
    """What making the variant may cost over all its runs; at the limit a run pauses, with a higher one it goes on."""

    max_cost_usd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="most that paid calls may cost",
        json_schema_extra=unit("US dollars"),
    )
    max_tokens: int | None = Field(
        default=None, gt=0, description="input and output of paid calls at most", json_schema_extra=unit("tokens")
    )


class Recipe(Record):
    """What decides a variant of any benchmark; a benchmark adds its own fields in a subclass, and its stages to `again`."""

    variant: Name = Field(description="the variant's name, that of its file")
    benchmark: Name = Field(description="the benchmark that the variant is of")
    language: Literal["en", "zh"] = Field(default="en", description="language of the generated text")
    num_users: int = Field(default=20, ge=1, description="users in the variant", json_schema_extra=unit("users"))
    num_reserve: int = Field(
        default=10, ge=0, description="stand-ins for users who cannot be finished", json_schema_extra=unit("personas")
    )
    seed: int = Field(default=42, ge=0, description="decides every draw, and is sent to the models")
    sample: int = Field(default=0, ge=0, description="raise it to ask everything anew")
    again: Again = Field(
        default={},
        description="how often one user's stage is asked anew: {USER ID: {STAGE: TIMES}}; the user `all` is everyone",
    )
    exclude_ids: tuple[str, ...] = Field(default=(), description="persona uuids never to sample")
    users_per_shard: int | None = Field(
        default=None, ge=1, description="size of the work units that the variant is split into", json_schema_extra=unit("users")
    )
    pool: PoolSpec = PoolSpec()
    models: Models = Models()
    gates: GatePolicy = GatePolicy()
    budget: Budget = Budget()

    @property
    def language_name(self) -> str:
        """The language as prompts name it."""
        return LANGUAGES[self.language]

    def with_models(self, name: Callable[[str], str]) -> Self:
        """The recipe with `name` of each model in the model's place."""
        return self.model_copy(update={"models": self.models.renamed(name)})

    def for_stage(self, stage: str, *, user_id: str) -> Self:
        """The recipe as one user's stage follows it: `again` moves its `sample` on, and with it the user's fingerprint."""
        times = times_again(self.again, stage=stage, user_id=user_id)
        return self.model_copy(update={"sample": self.sample + times}) if times else self

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits over all fields that decide rows.

        Where the pool lies and whose it is changes no row, its content does. The `budget` decides when a run pauses, and
        the rows are the same however often it did; were it counted, raising it would make everything look stale. A
        model's `transport` is the road that requests and replies take: the same request may meet another sample of the
        model there, as in any second try, but rows follow from replies, and the reply cache serves both roads alike.
        """
        return _short_digest(self.model_dump_json(exclude={"pool": ONLY_WHOSE_POOL, **ONLY_HOW_CALLS_ARE_MADE}))

    @property
    def user_fingerprint(self) -> str:
        """Identity of what decides one user's records; which and how many users there are is left out.

        What is asked again of single users is in `for_stage`, and so in their fingerprints only.
        """
        left_out = dict.fromkeys(ONLY_WHICH_USERS | ONLY_SOME_USERS | ONLY_HOW_IT_IS_REPORTED, True)
        return _short_digest(self.model_dump_json(exclude={**left_out, **ONLY_HOW_CALLS_ARE_MADE}))


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
