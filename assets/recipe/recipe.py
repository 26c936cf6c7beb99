"""The recipe: every count, date, seed, model and policy that decides the rows."""

import hashlib
from datetime import date
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from assets.recipe.model_policy import ROLES, Models
from assets.recipe.policies import AuditPolicy, DiversityPolicy, GatePolicy, ShortcutPolicy
from assets.records.base import Name, Record, unit

LANGUAGES = {"en": "English", "zh": "Simplified Chinese"}
# Field groups that decide when and how calls are made, but not what is asked and so no row.
ONLY_HOW_CALLS_ARE_MADE = {"budget": True, "models": {role: {"transport"} for role in ROLES}}
ONLY_WHOSE_POOL = {"paths", "license", "attribution"}
ONLY_WHICH_USERS = frozenset({"variant", "num_users", "num_reserve", "users_per_shard", "exclude_ids", "pool"})
# What is asked again of one user is in that user's `sample`, see `Recipe.for_stage`.
ONLY_SOME_USERS = frozenset({"again"})
ONLY_HOW_IT_IS_REPORTED = frozenset({"wall", "diversity"})
MAX_STATES_PER_QUERY = 3  # what the prompt allows

EVERYONE = "all"
AskingStage = Literal[
    "user_profiles", "questions", "state_schema", "state_trajectory", "events", "session_queries", "answers", "audits"
]
Stages = dict[AskingStage, PositiveInt]


def _in_order(again: dict[Name, Stages]) -> dict[Name, Stages]:
    """Equal entries give equal bytes, in whatever order they were written."""
    return {user: dict(sorted(stages.items())) for user, stages in sorted(again.items())}


Again = Annotated[dict[Name, Stages], AfterValidator(_in_order)]


def times_again(again: Again, *, stage: str, user_id: str) -> int:
    """How often this user's stage is asked anew: the entries of everyone and of the user add up."""
    asked = cast(dict[str, dict[str, int]], again)
    return sum(asked.get(who, {}).get(stage, 0) for who in (EVERYONE, user_id))


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
    """All parameters of a benchmark variant; the defaults are the paper's `base` (section 4.1, App. C)."""

    variant: Name = Field(description="the variant's name, that of its file")
    start_date: date = Field(default=date(2020, 10, 1), description="day of the initial state")
    language: Literal["en", "zh"] = Field(default="en", description="language of the generated text")
    num_users: int = Field(default=20, ge=1, description="users in the variant", json_schema_extra=unit("users"))
    num_reserve: int = Field(
        default=10, ge=0, description="stand-ins for users who cannot be finished", json_schema_extra=unit("personas")
    )
    num_questions: int = Field(
        default=10, ge=1, le=100, description="questions asked of every user", json_schema_extra=unit("questions")
    )
    num_states_per_question: int = Field(
        default=2, ge=1, le=6, description="variables that an answer depends on, N_s", json_schema_extra=unit("state variables")
    )
    num_choices_per_state: int = Field(
        default=3, ge=2, le=10, description="values that a state variable may have", json_schema_extra=unit("choices")
    )
    num_periods: int = Field(
        default=10, ge=1, le=200, description="periods after the initial one, N_p", json_schema_extra=unit("periods")
    )
    num_months_per_period: int = Field(
        default=3, ge=1, le=24, description="months from one state to the next", json_schema_extra=unit("months")
    )
    num_changes_per_period: int = Field(
        default=4,
        ge=1,
        le=50,
        description="state updates in a period, one more or fewer is fine",
        json_schema_extra=unit("state updates"),
    )
    max_changes_per_state: int = Field(
        default=3,
        ge=1,
        le=200,
        description="state updates of one variable over all periods",
        json_schema_extra=unit("state updates"),
    )
    min_variants_per_question: int = Field(
        default=4, ge=2, le=20, description="answers offered per question at least", json_schema_extra=unit("answers")
    )
    golden_changes: float | None = Field(
        default=None, ge=0, le=1, description="target share of questions whose right answer changes in a period"
    )
    max_states_per_query: int = Field(
        default=MAX_STATES_PER_QUERY,
        ge=1,
        le=MAX_STATES_PER_QUERY,
        description="values that an opening query tells at most; 1 is easiest for small models",
        json_schema_extra=unit("state variables"),
    )
    num_rounds_initial: int = Field(
        default=1, ge=1, le=50, description="length of a session in period 0", json_schema_extra=unit("rounds")
    )
    num_rounds_update: int = Field(
        default=2, ge=1, le=50, description="length of a later session; N_i is twice this", json_schema_extra=unit("rounds")
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
    audit: AuditPolicy = AuditPolicy()
    # The field is older than the class, and recipe files name it.
    wall: ShortcutPolicy = ShortcutPolicy()
    diversity: DiversityPolicy = DiversityPolicy()
    budget: Budget = Budget()

    @model_validator(mode="after")
    def counts_are_possible(self) -> Self:
        options = self.num_choices_per_state**self.num_states_per_question
        if self.min_variants_per_question > options:
            raise ValueError(
                f"min_variants_per_question is {self.min_variants_per_question}, but {self.num_states_per_question} "
                f"states of {self.num_choices_per_state} choices have only {options} variants."
            )
        # A variable changes once in a period at most.
        each = min(self.max_changes_per_state, self.num_periods)
        changes = self.num_questions * self.num_states_per_question * each
        if self.num_periods * self.fewest_changes > changes:
            raise ValueError(
                f"num_periods {self.num_periods} with num_changes_per_period {self.num_changes_per_period} needs at "
                f"least {self.num_periods * self.fewest_changes} changes, but {self.num_questions} questions on "
                f"{self.num_states_per_question} states, each with up to {each} changes, allow at most {changes}."
            )
        return self

    @property
    def fewest_changes(self) -> int:
        """The least number of updates in a period."""
        return max(1, self.num_changes_per_period - 1)

    @property
    def num_total_months(self) -> int:
        """Months from the start date to the end of the last period."""
        return self.num_periods * self.num_months_per_period

    @property
    def language_name(self) -> str:
        """The language as prompts name it."""
        return LANGUAGES[self.language]

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
