"""Rules about the companies, and the check that their files are those of the recipe."""

from collections.abc import Iterator

import dagster as dg

from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.company import owned_rows
from assets.tool_dialogue.domains import digest_of_domains, domain_in
from assets.tool_dialogue.pipeline import TOOL_DIALOGUE
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


@dg.asset_check(
    asset=TOOL_DIALOGUE.key("recipe"),
    name="companies_are_unchanged",
    blocking=True,
    partitions_def=TOOL_DIALOGUE.partitions.by_variant,
    description="The companies' files are those that the recipe was resolved with.",
)
def companies_are_unchanged(td_recipe: ToolDialogueRecipe) -> dg.AssetCheckResult:
    """Read the companies' files again."""
    found = digest_of_domains(td_recipe.domains)
    unchanged = found == td_recipe.content
    sentence = f"The companies {', '.join(td_recipe.domains)} are as the recipe says."
    if not unchanged:
        sentence = f"The companies have the digest {found[:16]}, and {td_recipe.content[:16]} when the recipe was resolved."
    return dg.AssetCheckResult(passed=unchanged, description=sentence, metadata={"companies": len(td_recipe.domains)})


RULES = (
    Rule(
        "errands_can_be_done",
        "The customer owns the item that the request is about, and every matter has a value.",
        errands_can_be_done,
    ),
    Rule("settled_matters_are_planned", "What is settled is planned for the customer who asks.", settled_matters_are_planned),
    SetRule("one_row_per_task", "Every task is drawn once.", OneRowPerItem),
)
