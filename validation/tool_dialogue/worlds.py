"""Rules about the companies."""

from collections.abc import Iterator

from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.company import owned_rows
from assets.tool_dialogue.domains import domain_in
from assets.tool_dialogue.records import ToolWorld
from validation.rules import OneRowPerItem, Rule, SetRule, expect


def errands_can_be_done(world: ToolWorld, _: ToolDialogueRecipe) -> Iterator[str]:
    domain = domain_in(world.company)
    spec = domain.errands[world.errand.name]
    wanted = set(domain.matters_of(spec))
    given = [*world.errand.stated, *world.errand.settled]
    yield from expect(sorted(given) == sorted(wanted), f"it takes {sorted(wanted)}, and {sorted(given)} are given")
    owned = owned_rows(domain, world.rows, table=spec.item, customer=world.errand.customer)
    named = [row for row in owned if row[spec.named_by] == world.errand.item]
    yield from expect(len(named) == 1, f"{world.errand.customer} has {len(named)} rows named {world.errand.item!r}")


def settled_matters_are_planned(world: ToolWorld, _: ToolDialogueRecipe) -> Iterator[str]:
    chain = tuple(hop.relation for hop in world.chain)
    yield from expect(chain == world.errand.settled, f"{chain} are planned, and {world.errand.settled} are settled")
    for hop in world.chain:
        yield from expect(hop.subject == world.errand.customer, f"{hop.relation} is settled with {hop.subject}")


RULES = (
    Rule(
        "errands_can_be_done",
        "The customer owns the item that the request is about, and every matter has a value.",
        errands_can_be_done,
    ),
    Rule("settled_matters_are_planned", "What is settled is planned for the customer who asks.", settled_matters_are_planned),
    SetRule("one_row_per_task", "Every task is drawn once.", OneRowPerItem),
)
