"""Rules about the companies."""

from collections.abc import Iterator

from assets.memory_items.facts import UNDONE
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.company import owned_rows
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.records import ToolWorld
from validation.rules import OneRowPerItem, Rule, SetRule, expect


def errands_can_be_done(world: ToolWorld, _: ToolDialogueRecipe) -> Iterator[str]:
    domain = domain_in(world.company)
    spec = domain.errands[world.errand.name]
    wanted = set(domain.matters_of(spec))
    given = [*world.errand.stated, *world.errand.settled]
    yield from expect(sorted(given) == sorted(wanted), f"it takes {sorted(wanted)}, and {sorted(given)} are given")
    owned = owned_rows(domain, world.rows, table=spec.item, customer=world.chain[0].value)
    named = [row for row in owned if row[spec.named_by] == world.errand.item]
    yield from expect(len(named) == 1, f"{world.chain[0].value} has {len(named)} rows named {world.errand.item!r}")


def settled_matters_are_planned(world: ToolWorld, _: ToolDialogueRecipe) -> Iterator[str]:
    who, *about = world.chain
    planned = tuple(hop.relation for hop in about if not hop.relation.startswith(UNDONE))
    yield from expect(planned == world.errand.settled, f"{planned} are planned, and {world.errand.settled} are settled")
    yield from expect(who.subject == world.errand.person, f"{who.subject} is planned, and {world.errand.person} is meant")
    for hop in about:
        yield from expect(hop.subject == who.value, f"{hop.relation} is settled for {hop.subject}")


RULES = (
    Rule(
        "errands_can_be_done",
        "The person for whom it is owns the item that the request is about, and every matter has a value.",
        errands_can_be_done,
    ),
    Rule(
        "settled_matters_are_planned",
        "Who is meant, and what is settled for that person, is planned.",
        settled_matters_are_planned,
    ),
    SetRule("one_row_per_task", "Every task is drawn once.", OneRowPerItem),
)
