"""Rules about the sampled personas, and the check that the pool they are drawn from is unchanged."""

from collections.abc import Iterator

import dagster as dg

from assets.amemgym.personas.pool_files import pool_digest, pool_files
from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.records.persona import Persona
from assets.amemgym.user_profiles import complementary_info
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import RecipeError
from assets.text.text_checks import SENTENCE_END
from validation.rules import NoTwoAlike, OneRowPerItem, Rule, SetRule, expect

FEWEST_WORDS = 6


def persona_is_not_excluded(persona: Persona, recipe: AMemGymRecipe) -> Iterator[str]:
    yield from expect(persona.user_id not in recipe.exclude_ids, "is named in exclude_ids")


def persona_has_words(persona: Persona, _: AMemGymRecipe) -> Iterator[str]:
    yield from expect(bool(persona.persona or persona.professional_persona), "has no persona text")


def hashed_sentences(persona: Persona) -> set[int]:
    """Return a hash of each sentence about a persona, of its words in small letters: names differ anyway.

    Sentences of few words may be alike by chance. A persona that has no others is one sentence.
    """
    texts = complementary_info(persona)
    hashes: set[int] = set()
    for sentence in SENTENCE_END.split(texts):
        words = [word for word in sentence.split() if not word[0].isupper()]
        if len(words) >= FEWEST_WORDS:
            hashes.add(hash(" ".join(words)))
    return hashes or {hash(texts)}


def personas_differ() -> NoTwoAlike:
    """Shared sentences show patchwork, and one person under two ids, who would count double in every result."""
    return NoTwoAlike(keys=hashed_sentences, sentence=lambda _, first: f"shares a sentence with {first}")


RULES = (
    Rule("no_excluded_persona", "No excluded persona is sampled.", persona_is_not_excluded),
    Rule("personas_tell_something", "Every persona has words to make a profile of.", persona_has_words),
    SetRule("one_row_per_user", "Every user is sampled once.", OneRowPerItem),
    SetRule("personas_differ", "No two users share a sentence.", personas_differ, blocking=False),
)


@dg.asset_check(
    asset=AMEMGYM.asset_key("recipe"),
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
    before = recipe.pool.content
    sentence = f"The pool has the digest {digest[:16]}, as the recipe says."
    if digest != before:
        then = f"and {before[:16]} when the recipe was resolved; materialize the recipe again."
        sentence = f"The pool has the digest {digest[:16]}, {then}"
    size = 0
    for path in files:
        size += path.stat().st_size
    return dg.AssetCheckResult(passed=digest == before, description=sentence, metadata={"files": len(files), "bytes": size})
