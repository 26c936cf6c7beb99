"""AMemGym's recipe: its dates, counts and policies beside what every benchmark has."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, SerializerFunctionWrapHandler, model_serializer, model_validator

from assets.recipe.policies import AuditPolicy, DiversityPolicy, ShortcutPolicy, decoys_per_user
from assets.recipe.recipe import MOST_ITEMS, Recipe
from assets.records.base import Record, quantity
from assets.records.paths import OwnPath
from assets.records.public_names import file_name

MAX_STATES_PER_QUERY = 3  # what the prompt allows
# The order of fields in recipe files, and in the bytes that fingerprints are of: what a reader looks for first stands first.
# `benchmark` is not in them, because a recipe that does not say it is AMemGym's.
FIELDS = (
    "variant",
    "start_date",
    "language",
    "num_users",
    "num_reserve",
    "num_questions",
    "num_states_per_question",
    "num_choices_per_state",
    "num_periods",
    "num_months_per_period",
    "num_changes_per_period",
    "max_changes_per_state",
    "min_variants_per_question",
    "balanced_options",
    "golden_changes",
    "max_states_per_query",
    "cast",
    "noise_share",
    "num_rounds_initial",
    "num_rounds_update",
    "seed",
    "salt",
    "derived_from",
    "sample",
    "again",
    "exclude_ids",
    "users_per_shard",
    "pool",
    "models",
    "gates",
    "audit",
    "shortcuts",
    "diversity",
    "budget",
)

LAST_YEAR = 9998  # no calendar here goes further, and sessions lie around the periods


def _fields_in_order(schema: dict[str, JsonValue]) -> None:
    properties = schema["properties"]
    assert isinstance(properties, dict)
    schema["properties"] = {name: properties[name] for name in ("benchmark", *FIELDS)}


class PoolSpec(Record):
    """The source of personas, and how they are sampled. No paths: the project's own pool."""

    paths: tuple[OwnPath, ...] = Field(default=(), description="files (Parquet, JSON, CSV), folders or globs")
    strategy: Literal["uniform", "stratified", "sql"] = Field(default="uniform", description="how personas are sampled")
    columns: tuple[str, ...] = Field(default=(), description="strata of the stratified strategy")
    query: str = Field(default="", description="SQL that selects uuid from the view `pool`, for the sql strategy")
    license: str = Field(default="", description="the license of the pool's personas, for the card")
    attribution: str = Field(default="", description="the pool's source, as the card names it")
    content: str = Field(default="", description="digest of the pool, filled in when the recipe is resolved")

    @model_validator(mode="after")
    def strategy_has_what_it_needs(self) -> Self:
        if (self.strategy == "stratified") != bool(self.columns):
            raise ValueError("pool.columns names the strata: give them with strategy 'stratified', and only there.")
        if (self.strategy == "sql") != bool(self.query):
            raise ValueError("pool.query holds the SQL: give it with strategy 'sql', and only there.")
        return self


class AMemGymRecipe(Recipe):
    """All parameters of an AMemGym variant; the defaults are the paper's `base` (section 4.1, App. C)."""

    model_config = ConfigDict(json_schema_extra=_fields_in_order)

    decide_no_row: ClassVar[Mapping[str, Any]] = {**Recipe.decide_no_row, "pool": {"paths", "license", "attribution"}}
    decide_which_items: ClassVar[frozenset[str]] = Recipe.decide_which_items | {
        "num_users",
        "users_per_shard",
        "exclude_ids",
        "pool",
    }
    decide_the_report: ClassVar[frozenset[str]] = frozenset({"shortcuts", "diversity"})

    benchmark: Literal["amemgym"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="amemgym", exclude=True, description="the benchmark that the variant is of"
    )
    num_users: int = quantity(20, "users", ge=1, le=MOST_ITEMS, description="users in the variant")
    exclude_ids: tuple[str, ...] = Field(default=(), description="persona uuids never to sample")
    users_per_shard: int | None = quantity(
        None, "users", ge=1, description="size of the work units that the variant is split into"
    )
    pool: PoolSpec = PoolSpec()
    start_date: date = Field(default=date(2020, 10, 1), description="day of the initial state")
    num_questions: int = quantity(10, "questions", ge=1, le=100, description="questions asked of every user")
    num_states_per_question: int = quantity(
        2, "state variables", ge=1, le=6, description="variables that an answer depends on, N_s"
    )
    num_choices_per_state: int = quantity(3, "choices", ge=2, le=10, description="values that a state variable may have")
    num_periods: int = quantity(10, "periods", ge=1, le=200, description="periods after the initial one, N_p")
    num_months_per_period: int = quantity(3, "months", ge=1, le=24, description="months from one state to the next")
    num_changes_per_period: int = quantity(
        4, "state updates", ge=1, le=50, description="state updates in a period, one more or fewer is fine"
    )
    max_changes_per_state: int = quantity(
        3, "state updates", ge=1, le=200, description="state updates of one variable over all periods"
    )
    min_variants_per_question: int = quantity(4, "answers", ge=2, le=20, description="answers offered per question at least")
    balanced_options: float | None = Field(
        default=None,
        ge=4,
        le=100,
        allow_inf_nan=False,
        description="answers offered per question on average at most: all combinations of the values that its variables "
        "take in a life, so that no single value tells the right one; null: lived ones and random ones, as in the paper",
        json_schema_extra={"unit": "answers"},
    )
    golden_changes: float | None = Field(
        default=None, ge=0, le=1, description="target share of questions whose right answer changes in a period"
    )
    max_states_per_query: int = quantity(
        MAX_STATES_PER_QUERY,
        "state variables",
        ge=1,
        le=MAX_STATES_PER_QUERY,
        description="values in a first query at most, and changes in an event; 1 is easiest for small models",
    )
    cast: bool = Field(
        default=True, description="whether people, animals, home and work are settled with the profile and kept throughout"
    )
    noise_share: float = Field(
        default=0.0, ge=0, le=0.6, description="share of the sessions that tell nothing new of the user, at least"
    )
    num_rounds_initial: int = quantity(1, "rounds", ge=1, le=50, description="length of a session in period 0")
    num_rounds_update: int = quantity(2, "rounds", ge=1, le=50, description="length of a later session; N_i is twice this")
    audit: AuditPolicy = AuditPolicy()
    shortcuts: ShortcutPolicy = ShortcutPolicy()
    diversity: DiversityPolicy = DiversityPolicy()

    @model_validator(mode="after")
    def counts_are_possible(self) -> Self:
        options = self.num_choices_per_state**self.num_states_per_question
        if self.min_variants_per_question > options:
            raise ValueError(
                f"min_variants_per_question is {self.min_variants_per_question}, but {self.num_states_per_question} "
                f"states of {self.num_choices_per_state} choices have only {options} variants."
            )
        if not 1000 <= self.start_date.year <= self.start_date.year + self.num_total_months // 12 < LAST_YEAR:
            raise ValueError(
                f"start_date is {self.start_date}, and the last period ends {self.num_total_months} months later; "
                f"years go from 1000 to {LAST_YEAR}."
            )
        # A variable changes once in a period at most.
        each = min(self.max_changes_per_state, self.num_periods)
        changes = self.num_questions * self.num_states_per_question * each
        if self.num_periods * self.fewest_changes > changes:
            raise ValueError(
                f"num_periods {self.num_periods} with num_changes_per_period {self.num_changes_per_period} needs at "
                f"least {self.num_periods * self.fewest_changes} changes, but num_questions {self.num_questions} on "
                f"{self.num_states_per_question} states, each with up to {each} changes, allow at most {changes}; "
                "lower num_changes_per_period or num_periods."
            )
        return self

    @model_validator(mode="after")
    def options_can_be_balanced(self) -> Self:
        """Refuse recipes whose options would let one value tell too much: a report would block each of their releases."""
        if self.balanced_options is None:
            return self
        # Two variables need three values each in a part of the questions, three or more need two.
        fewest = 7 if self.num_states_per_question <= 2 else 2**self.num_states_per_question
        if self.balanced_options < fewest:
            raise ValueError(
                f"balanced_options is {self.balanced_options:g}; with {self.num_states_per_question} states per question give "
                f"{fewest} or more, or one of the values tells the right answer too often."
            )
        if self.num_states_per_question == 2 and self.num_choices_per_state < 3:
            raise ValueError(
                "balanced_options needs 3 choices per state or more where questions have 2 states; with "
                f"{self.num_choices_per_state} one of the values tells the right answer too often."
            )
        return self

    @model_validator(mode="after")
    def noise_can_be_read(self) -> Self:
        if self.noise_share and not self.gates.unexposed:
            raise ValueError(
                f"noise_share is {self.noise_share}, but gates.unexposed is false, so that no judge would read if noise tells "
                "a value; set gates.unexposed true or noise_share 0."
            )
        return self

    def takes_salt(self, *, embedded: bool) -> bool:
        """True where the embedded model writes, of which everybody has the same; a language model's users differ anyway."""
        return embedded

    @property
    def num_items(self) -> int:
        return self.num_users

    @property
    def items_per_unit(self) -> int | None:
        return self.users_per_shard

    @property
    def source_digest(self) -> str:
        return self.pool.content

    @property
    def main_numbers(self) -> Mapping[str, int]:
        return {
            "periods": self.num_periods,
            "questions": self.num_questions,
            "states": self.num_states_per_question,
            "messages": 2 * self.num_rounds_update,
        }

    def fields_without(self, items: Iterable[str]) -> Mapping[str, object]:
        return {"exclude_ids": sorted({*self.exclude_ids, *items})}

    def fresh_fields(self, count: int, *, without: Iterable[str]) -> Mapping[str, object]:
        # The release's own report says how good the recipe is; among few users chance must not block them.
        limits = self.shortcuts.model_copy(update={"margin": 1.0, "form_margin": 1.0, "least_change": 1e-6})
        return {**self.fields_without(without), "num_users": count, "shortcuts": limits.model_dump()}

    @property
    def asked_models(self) -> tuple[str, ...]:
        auditor = (self.audit.model,) if self.audit.model else ()
        return tuple(dict.fromkeys((*super().asked_models, *auditor)))

    @property
    def num_decoys(self) -> int:
        """The number of wrong items that each user has at every gate."""
        return decoys_per_user(self.num_users) if self.audit.decoys is None else self.audit.decoys

    def for_stage(self, stage: str, *, item_id: str) -> Self:
        recipe = super().for_stage(stage, item_id=item_id)
        if stage != "audits":
            return recipe
        # How many users there are decides this much of a user's record, and of no other stage's.
        audit = self.audit.model_copy(update={"decoys": self.num_decoys})
        return recipe.model_copy(update={"audit": audit})

    @property
    def fewest_changes(self) -> int:
        """The least number of updates in a period."""
        return max(1, self.num_changes_per_period - 1)

    @property
    def num_total_months(self) -> int:
        """Months from the start date to the end of the last period."""
        return self.num_periods * self.num_months_per_period

    @model_serializer(mode="wrap")
    def serialized_in_order(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        return {name: fields[name] for name in FIELDS if name in fields}

    def without_paths(self) -> Self:
        pool = self.pool.model_copy(update={"paths": tuple(map(file_name, self.pool.paths))})
        return self.model_copy(update={"pool": pool})

    def with_models(self, name: Callable[[str], str]) -> Self:
        """The recipe with `name` of each model in the model's place, those that compare meanings and audit too."""
        embeddings = name(self.diversity.embedding_model or "") or None
        diversity = self.diversity.model_copy(update={"embedding_model": embeddings})
        audit = self.audit.model_copy(update={"model": name(self.audit.model or "") or None})
        return super().with_models(name).model_copy(update={"diversity": diversity, "audit": audit})


def values_apart(recipe: AMemGymRecipe) -> bool:
    """Return True where writers get a few values in each call, as they are to tell fewer in a query than the prompts allow."""
    return recipe.max_states_per_query < MAX_STATES_PER_QUERY


def calls_for_changes(recipe: AMemGymRecipe) -> float:
    """Return the calls that tell of all periods' changes: one for each period, or one for each few values."""
    in_each = recipe.num_changes_per_period / recipe.max_states_per_query if values_apart(recipe) else 1.0
    return recipe.num_periods * in_each
