"""The recipe: every count, date, seed, model and policy that decides the rows."""

import hashlib
from datetime import date
from typing import Literal, Self

from pydantic import Field, model_validator

from assets.records.audit_policy import AuditPolicy
from assets.records.base import Name, Record
from assets.records.gate_policy import GatePolicy
from assets.records.report_policy import DiversityPolicy, WallPolicy
from prompts.template import Role, Warmth

LANGUAGES = {"en": "English", "zh": "Simplified Chinese"}
Transport = Literal["live", "batch"]
ROLES: tuple[Role, ...] = ("writer", "judge", "user_simulator")
# Field groups that decide when and how calls are made, but not what is asked and so no row.
ONLY_HOW_CALLS_ARE_MADE = {"budget": True, "models": {role: {"transport"} for role in ROLES}}
ONLY_WHOSE_POOL = {"paths", "license", "attribution"}
ONLY_WHICH_USERS = frozenset({"variant", "num_users", "num_reserve", "users_per_shard", "exclude_ids", "pool"})
ONLY_HOW_IT_IS_REPORTED = frozenset({"wall", "diversity"})


class ModelSpec(Record):
    """One model in one role. `temperature` None: the parameter is not sent (reasoning models)."""

    model: Name = "gpt-4.1"
    temperature: float | None = Field(default=0.2, ge=0, le=2)
    creative_temperature: float | None = Field(default=1.0, ge=0, le=2, description="for questions and state updates")
    max_output_tokens: int = Field(default=8192, gt=0)
    transport: Transport = Field(default="live", description="batch: in batch jobs, at half the price and within a day")

    def temperature_for(self, warmth: Warmth) -> float | None:
        """The temperature of a prompt, by its warmth."""
        return self.creative_temperature if warmth == "creative" else self.temperature


class JudgeSpec(ModelSpec):
    """A model that judges, at temperature 0 unless the recipe says otherwise."""

    temperature: float | None = Field(default=0.0, ge=0, le=2)
    creative_temperature: float | None = Field(default=0.0, ge=0, le=2)
    further: tuple[Name, ...] = Field(default=(), description="more models that judge by turns, under the same settings")

    @property
    def panel(self) -> tuple[str, ...]:
        """All judge models, in the order of their turns."""
        return (self.model, *self.further)


class Models(Record):
    """Who writes, who judges, who plays the user."""

    writer: ModelSpec = ModelSpec()
    judge: JudgeSpec = JudgeSpec()
    user_simulator: ModelSpec = ModelSpec()

    @property
    def batched(self) -> bool:
        """Whether any role's calls go in batch jobs."""
        return any(self.for_role(role).transport == "batch" for role in ROLES)

    def for_role(self, role: Role) -> ModelSpec:
        """The model of a prompt's role."""
        return {"writer": self.writer, "judge": self.judge, "user_simulator": self.user_simulator}[role]


class PoolSpec(Record):
    """Where personas come from and how they are sampled. No paths: the project's own pool."""

    paths: tuple[str, ...] = Field(default=(), description="Parquet or JSONL files or globs")
    strategy: Literal["uniform", "stratified", "sql"] = "uniform"
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

    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="in US dollars")
    max_tokens: int | None = Field(default=None, gt=0, description="input and output tokens of paid calls")


class Recipe(Record):
    """All parameters of a benchmark variant; the defaults are the paper's `base` (section 4.1, App. C)."""

    variant: Name
    start_date: date = Field(default=date(2020, 10, 1), description="day of the initial state")
    language: Literal["en", "zh"] = Field(default="en", description="language of the generated text")
    num_users: int = Field(default=20, ge=1)
    num_reserve: int = Field(default=10, ge=0, description="personas that replace users who cannot be finished")
    num_questions: int = Field(default=10, ge=1, le=100, description="questions per user")
    num_states_per_question: int = Field(default=2, ge=1, le=6, description="N_s")
    num_choices_per_state: int = Field(default=3, ge=2, le=10)
    num_periods: int = Field(default=10, ge=1, le=200, description="N_p, periods after the initial one")
    num_months_per_period: int = Field(default=3, ge=1, le=24)
    num_changes_per_period: int = Field(default=4, ge=1, le=50, description="state updates, one more or fewer is fine")
    max_changes_per_state: int = Field(default=3, ge=1, le=200)
    min_variants_per_question: int = Field(default=4, ge=2, le=20, description="answer options per question at least")
    golden_changes: float | None = Field(
        default=None, ge=0, le=1, description="target share of questions whose right answer changes in a period"
    )
    num_rounds_initial: int = Field(default=1, ge=1, le=50, description="rounds of a session in period 0")
    num_rounds_update: int = Field(default=2, ge=1, le=50, description="rounds of a later session; N_i is twice this")
    seed: int = Field(default=42, ge=0)
    sample: int = Field(default=0, ge=0, description="raise it to ask everything anew")
    exclude_ids: tuple[str, ...] = Field(default=(), description="persona uuids never to sample")
    users_per_shard: int | None = Field(default=None, ge=1, description="split the variant into work units")
    pool: PoolSpec = PoolSpec()
    models: Models = Models()
    gates: GatePolicy = GatePolicy()
    audit: AuditPolicy = AuditPolicy()
    wall: WallPolicy = WallPolicy()
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

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits over all fields that decide rows.

        Where the pool lies and whose it is changes no row, its content does. The `budget` decides when a run pauses, and
        the rows are the same however often it did; were it counted, raising it would make everything look stale. A
        model's `transport` is the road that requests and replies take: the same request may meet another sample of the
        model there, as in any second try, but rows follow from replies, and the call cache serves both roads alike.
        """
        return _short_digest(self.model_dump_json(exclude={"pool": ONLY_WHOSE_POOL, **ONLY_HOW_CALLS_ARE_MADE}))

    @property
    def user_fingerprint(self) -> str:
        """Identity of what decides one user's records; which and how many users there are is left out."""
        return _short_digest(
            self.model_dump_json(
                exclude={**dict.fromkeys(ONLY_WHICH_USERS | ONLY_HOW_IT_IS_REPORTED, True), **ONLY_HOW_CALLS_ARE_MADE}
            )
        )


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
