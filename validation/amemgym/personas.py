"""What must hold of the sampled personas."""

import hashlib
from collections.abc import Iterator

from assets.amemgym.records.persona import Persona
from assets.amemgym.user_profiles import complementary_info
from assets.llm.text_matching import folded
from assets.recipe.recipe import Recipe
from validation.rules import Rule, SetRule, Violation, expect
from validation.set_rules import OneRowPerUser


def persona_is_not_excluded(persona: Persona, recipe: Recipe) -> Iterator[str]:
    """No excluded persona is sampled."""
    yield from expect(persona.user_id not in recipe.exclude_ids, "is named in exclude_ids")


def persona_tells_something(persona: Persona, _: Recipe) -> Iterator[str]:
    """A persona has words to make a profile of."""
    yield from expect(bool(persona.persona or persona.professional_persona), "has no persona text")


class PersonasDiffer:
    """The pool may hold one person under two ids; two such users count double in every result."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}
        self._twins: list[Violation] = []

    def add(self, persona: Persona) -> None:
        """Look at one persona; of its texts a digest is kept."""
        texts = hashlib.sha256(folded(complementary_info(persona)).encode()).digest()
        first = self._first.setdefault(texts, persona.user_id)
        if first != persona.user_id:
            self._twins.append(Violation(persona.user_id, f"has the same texts as {first}"))

    def violations(self) -> Iterator[Violation]:
        """One for each persona but the first of those with the same texts."""
        yield from self._twins


RULES = (
    Rule("no_excluded_persona", "No excluded persona is sampled.", persona_is_not_excluded),
    Rule("personas_tell_something", "Every persona has words to make a profile of.", persona_tells_something),
    SetRule("one_row_per_user", "Every user is sampled once.", OneRowPerUser),
    SetRule("personas_differ", "No two users have the same texts.", PersonasDiffer, blocking=False),
)
