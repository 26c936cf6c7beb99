"""What must hold of the sampled personas, and of the pool that they are drawn from."""

import hashlib
from collections.abc import Iterator

import dagster as dg

from assets.amemgym.personas.sampling import pool_digest, pool_files
from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import Persona
from assets.amemgym.user_profiles import complementary_info
from assets.llm.text import folded
from assets.recipe.loading import RecipeError
from validation.rules import OneRowPerItem, Rule, SetRule, Violation, expect


def persona_is_not_excluded(persona: Persona, recipe: AMemGymRecipe) -> Iterator[str]:
    yield from expect(persona.user_id not in recipe.exclude_ids, "is named in exclude_ids")


def persona_has_words(persona: Persona, _: AMemGymRecipe) -> Iterator[str]:
    """A persona has words to make a profile of."""
    yield from expect(bool(persona.persona or persona.professional_persona), "has no persona text")


class PersonasDiffer:
    """Accumulator of the rule that no two users have the same texts.

    The pool may hold one person under two ids; such users would count double in every result.
    """

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}
        self._repeated: list[Violation] = []

    def add(self, persona: Persona) -> None:
        """Of the texts only a digest stays in memory."""
        texts = hashlib.sha256(folded(complementary_info(persona)).encode()).digest()
        first = self._first.setdefault(texts, persona.user_id)
        if first != persona.user_id:
            self._repeated.append(Violation(persona.user_id, f"has the same texts as {first}"))

    def violations(self) -> Iterator[Violation]:
        """One for each persona but the first of those with the same texts."""
        yield from self._repeated


RULES = (
    Rule("no_excluded_persona", "No excluded persona is sampled.", persona_is_not_excluded),
    Rule("personas_tell_something", "Every persona has words to make a profile of.", persona_has_words),
    SetRule("one_row_per_user", "Every user is sampled once.", OneRowPerItem),
    SetRule("personas_differ", "No two users have the same texts.", PersonasDiffer, blocking=False),
)


@dg.asset_check(
    asset="recipe",
    name="pool_is_unchanged",
    blocking=True,
    partitions_def=AMEMGYM.partitions.by_variant,
    description="The files of the persona pool have the content that the recipe was resolved with.",
)
def pool_is_unchanged(recipe: AMemGymRecipe) -> dg.AssetCheckResult:
    try:
        files = pool_files(recipe.pool)
        digest = pool_digest(files)
    except RecipeError as error:
        return dg.AssetCheckResult(passed=False, description=str(error))
    same, before = digest == recipe.pool.content, recipe.pool.content[:16]
    changed = f"The pool has the digest {digest[:16]}, and {before} when the recipe was resolved; materialize the recipe again."
    return dg.AssetCheckResult(
        passed=same,
        description=f"The pool has the digest {digest[:16]}, as the recipe says." if same else changed,
        metadata={"files": len(files), "bytes": sum(path.stat().st_size for path in files)},
    )
