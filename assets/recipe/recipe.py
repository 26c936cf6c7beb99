"""The recipe: what every benchmark's variants have of counts, seeds, models and policies that decide the rows."""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, PositiveInt

from assets.recipe.model_policy import ROLES, AskSettings, Models
from assets.recipe.policies import GatePolicy
from assets.records.base import Name, Record, quantity
from assets.text.languages import LANGUAGES, Language

# How calls are made and what a variant is compared with, but not what is asked.
ONLY_HOW_CALLS_ARE_MADE = {"budget": True, "derived_from": True, "models": {role: {"transport"} for role in ROLES}}

EVERYONE = "all"
MOST_ITEMS = 10_000_000  # in a variant
# A variant's name becomes that of a folder, and on the Hub of a configuration and a tag.
VARIANT_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
NO_TAG = re.compile(r"\.\.|\.lock$|\.$")  # what git forbids of what the pattern allows
TAKEN = frozenset({"tables", "README.md", "LICENSE", "versions.json"})  # what stands beside the variants on the Hub


def variant_problem(variant: str) -> str:
    """Say why no release can have this name; "" for a name that can be released and published."""
    if re.fullmatch(VARIANT_PATTERN, variant) is None:
        return f"The variant {variant!r} cannot name a folder; use 1 to 100 letters, digits, dots, - and _, no sign first."
    if NO_TAG.search(variant) or variant in TAKEN:
        return f"A variant named {variant!r} cannot be published; give its recipe another name."
    return ""


def _sorted_entries(again: dict[Name, dict[Name, PositiveInt]]) -> dict[Name, dict[Name, PositiveInt]]:
    """Equal entries give equal bytes, in whatever order they were written."""
    return {user: dict(sorted(again[user].items())) for user in sorted(again)}


Again = Annotated[dict[Name, dict[Name, PositiveInt]], AfterValidator(_sorted_entries)]
FoundCheaply = Annotated[
    float,
    Field(
        gt=0,
        le=1,
        description="how often a reader without a model may find all that is needed in 10 % of a history; 1: no limit",
    ),
]


def times_again(again: Mapping[str, Mapping[str, int]], *, stage: str, item_id: str) -> int:
    """Return how often this item's stage is asked anew: the entries of all and of the item add up."""
    return sum(again.get(who, {}).get(stage, 0) for who in (EVERYONE, item_id))


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the field and what to do."""


class Budget(Record):
    """The most that the variant may cost over all its runs; at the limit a run pauses, with a higher one it goes on.

    Calls that cost nothing do not count: replies from the cache, the embedded model, a price of zero.
    """

    max_cost_usd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="what paid calls may cost at most, over all runs of the variant",
        json_schema_extra={"unit": "US dollars"},
    )
    max_tokens: int | None = quantity(
        None, "tokens", gt=0, description="input and output of paid calls at most, over all runs of the variant"
    )


class Recipe(Record):
    """All that decides a variant of any benchmark; a benchmark adds its own fields in a subclass."""

    # Fields, or parts of them, that decide no row; and those that decide which items there are, but no record of one.
    decide_no_row: ClassVar[Mapping[str, Any]] = ONLY_HOW_CALLS_ARE_MADE
    decide_which_items: ClassVar[frozenset[str]] = frozenset({"variant", "num_reserve"})
    decide_the_report: ClassVar[frozenset[str]] = frozenset()

    variant: Name = Field(description="the variant's name, that of its file")
    benchmark: Name = Field(description="the benchmark that the variant is of")
    language: Language = Field(default="en", description="language of the generated text")
    num_reserve: int = quantity(
        10, "items", ge=0, le=MOST_ITEMS, description="spare items (users or tasks) for those that cannot be finished"
    )
    seed: int = Field(default=42, ge=0, lt=2**63, description="decides every draw, and is sent to the models")
    salt: str | None = Field(
        default=None,
        max_length=200,
        description="decides every draw beside seed and variant; null: drawn once and kept; empty: none, and all draw the same",
    )
    derived_from: str = Field(
        default="", max_length=200, description="the variant whose users or tasks these are as well; empty: they are its own"
    )
    sample: int = Field(default=0, ge=0, description="raise it to ask everything anew")
    again: Again = Field(
        default={},
        description="how often a stage of one item is asked anew: {ITEM ID: {STAGE: TIMES}}; the id `all` means every item",
    )
    models: Models = Models()
    gates: GatePolicy = GatePolicy()
    budget: Budget = Budget()

    @property
    def num_items(self) -> int:
        """The number of items in the variant; each benchmark has its own field for it, such as `num_users`."""
        raise NotImplementedError

    @property
    def items_per_unit(self) -> int | None:
        """Size of the work units that the variant is split into; None: it is one unit."""
        return None

    @property
    def source_digest(self) -> str:
        """Digest of what the items are drawn from, once the recipe is resolved; empty where there is no such thing."""
        return ""

    def without_paths(self) -> Self:
        """The recipe as it may be shared: without the folders in which files of this machine lie."""
        return self

    @property
    def main_numbers(self) -> Mapping[str, int]:
        """The numbers that a list of recipes shows beside that of items; each benchmark has its own."""
        return {}

    def fields_without(self, items: Iterable[str]) -> Mapping[str, object]:
        """Return the fields with which none of these items is made; none where another seed makes others anyway."""
        return {}

    def fresh_fields(self, count: int, *, without: Iterable[str]) -> Mapping[str, object]:
        """Return the fields with which so many items are made, none of them one of these; none where that is not offered."""
        return {}

    @property
    def batched(self) -> bool:
        """True where any role's calls go in batch jobs."""
        return any(self.models.for_role(role).transport == "batch" for role in ROLES)

    @property
    def asked_models(self) -> tuple[str, ...]:
        """Names of the models that write and judge, each once."""
        return tuple(dict.fromkeys((self.models.writer.model, *self.models.judge.panel)))

    def takes_salt(self, *, embedded: bool) -> bool:
        """Return True where a salt is drawn for a recipe that has none. `embedded`: the embedded model takes every role."""
        return True

    @property
    def world_seed(self) -> int:
        """The number that every draw follows from: that of seed, variant and salt together, or the seed without a salt."""
        if not self.salt:
            return self.seed
        words = "\x1f".join((str(self.seed), self.variant, self.salt))
        return int(hashlib.sha256(words.encode()).hexdigest(), 16)

    @property
    def asking(self) -> AskSettings:
        """The settings of the recipe that a single prompt needs."""
        # Not every API takes a seed of more than 32 bits.
        seed = self.world_seed % 2**31 if self.salt else self.seed
        return AskSettings(self.models, max_reasks=self.gates.max_reasks, seed=seed, sample=self.sample)

    @property
    def language_name(self) -> str:
        """The language as prompts name it."""
        return LANGUAGES[self.language]

    def with_models(self, name: Callable[[str], str]) -> Self:
        """The recipe with `name` of each model in the model's place."""
        return self.model_copy(update={"models": self.models.with_names(name)})

    def for_stage(self, stage: str, *, item_id: str) -> Self:
        """The recipe as one item's stage follows it: `again` moves its `sample` on, and with it the item's fingerprint."""
        times = times_again(self.again, stage=stage, item_id=item_id)
        return self.model_copy(update={"sample": self.sample + times}) if times else self

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits over all fields that decide rows.

        Where the pool lies and whose it is changes no row, its content does. The `budget` decides when a run pauses, and
        the rows are the same however often it did; were it counted, raising it would make everything look stale. A
        model's `transport` is the road that requests and replies take: the same request may meet another sample of the
        model there, as in any second try, but rows follow from replies, and the reply cache serves both roads alike.
        """
        return self._digest_without(self.decide_no_row)

    @property
    def item_fingerprint(self) -> str:
        """Identity of what decides one item's records; which and how many items there are is left out.

        What is asked again of single items is in `for_stage`, and so in their fingerprints only.
        """
        left_out = dict.fromkeys((*self.decide_which_items, "again", *self.decide_the_report), True)
        return self._digest_without({**self.decide_no_row, **left_out})

    def _digest_without(self, left_out: Mapping[str, Any]) -> str:
        """Return sixteen hex digits over the other fields. A salt counts by the world that it makes, the variant with it."""
        text = self.model_dump_json(exclude={**left_out, "salt": True})
        if self.salt:
            text += f"\x1f{self.world_seed}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Unit:
    """A work unit: the positions of its items and of its own reserve in the variant's sample."""

    key: str
    variant: str
    items: range
    reserve: range

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions in the sample: the unit's items first, then its reserve."""
        return (*self.items, *self.reserve)


def units(recipe: Recipe) -> tuple[Unit, ...]:
    """Split the variant's items into work units of `items_per_unit`, each with its share of the reserve."""
    count = recipe.num_items
    size = recipe.items_per_unit
    if size is None:
        return (Unit(recipe.variant, recipe.variant, range(count), range(count, count + recipe.num_reserve)),)
    starts = range(0, count, size)
    share = math.ceil(recipe.num_reserve / len(starts))
    found: list[Unit] = []
    for index, start in enumerate(starts):
        items = range(start, min(start + size, count))
        # The reserves of all units lie behind all items, so that an item's position does not depend on the units' size.
        reserve = range(count + index * share, count + (index + 1) * share)
        found.append(Unit(f"{recipe.variant}-{index:04d}", recipe.variant, items, reserve))
    return tuple(found)
