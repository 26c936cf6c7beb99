"""What must hold of the sampled personas."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assets.records.persona import Persona
from assets.records.recipe import Recipe
from assets.user_profiles import complementary_info
from validation.rules import Rule, SetRule, Violation, expect
from validation.sets import one_row_per_user
from validation.wording import folded


def persona_is_not_excluded(persona: Persona, recipe: Recipe) -> Iterator[str]:
    """No excluded persona is sampled."""
    yield from expect(persona.user_id not in recipe.exclude_ids, "is named in exclude_ids")


def persona_tells_something(persona: Persona, _: Recipe) -> Iterator[str]:
    """A persona has words to make a profile of."""
    yield from expect(bool(persona.persona or persona.professional_persona), "has no persona text")


def personas_differ(personas: Sequence[Persona], _: Recipe) -> Iterator[Violation]:
    """The pool may hold one person under two ids; two such users count double in every result."""
    same: defaultdict[str, list[str]] = defaultdict(list)
    for persona in personas:
        same[folded(complementary_info(persona))].append(persona.user_id)
    for first, *others in same.values():
        yield from (Violation(other, f"has the same texts as {first}") for other in others)


RULES = (
    Rule("no_excluded_persona", "No excluded persona is sampled.", persona_is_not_excluded),
    Rule("personas_tell_something", "Every persona has words to make a profile of.", persona_tells_something),
    SetRule("one_row_per_user", "Every user is sampled once.", one_row_per_user),
    SetRule("personas_differ", "No two users have the same texts.", personas_differ, blocking=False),
)
