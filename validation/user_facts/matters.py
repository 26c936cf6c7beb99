"""Rules about drafted matters: as many as the recipe takes, no circle, and the links are read as they are."""

from collections.abc import Iterator

from assets.recipe.user_facts import UserFactsRecipe
from assets.user_facts.matters import GATE, draft_problems, links_of, voted_text
from assets.user_facts.records import FactMatters
from validation.rules import AcceptingVotes, Rule, expect


def matters_are_as_wanted(drafted: FactMatters, recipe: UserFactsRecipe) -> Iterator[str]:
    yield from draft_problems(drafted.matters, recipe)


def judges_read_the_links(drafted: FactMatters, recipe: UserFactsRecipe) -> Iterator[str]:
    votes = AcceptingVotes(drafted.gate_records)
    accepting = votes.too_few(GATE, voted_text(drafted.matters), links_of(drafted.matters), policy=recipe.gates)
    yield from expect(accepting is None, f"its links were accepted by {accepting} votes")


RULES = (
    Rule(
        "matters_are_as_wanted",
        "Matters are as many as the recipe takes, of forms that values can be made of, and none follows from itself.",
        matters_are_as_wanted,
    ),
    Rule(
        "judges_read_the_links",
        "Enough votes read the links between matters as they were drafted, and no others.",
        judges_read_the_links,
        of_votes=True,
    ),
)
