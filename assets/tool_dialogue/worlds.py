"""Stage `td_worlds`: for each task a company with its rows, an errand of a customer, and what sessions have to tell."""

from collections.abc import Iterator

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.memory_items.tasks import num_hops_at, rival_first_at, task_id_at
from assets.memory_items.world.clusters import FactCluster, make_cluster, small_clusters
from assets.memory_items.world.filler import SharedClusters
from assets.memory_items.world.relations import person, random_value
from assets.recipe.recipe import Unit
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.reporting.asset_description import AssetDescription, Row
from assets.tool_dialogue.company import drawn_rows, owned_rows
from assets.tool_dialogue.desk import ServiceDesk, staff_and_customers
from assets.tool_dialogue.domain import NAME, STAFF, Domain
from assets.tool_dialogue.domains import domain_named, relations_of
from assets.tool_dialogue.errands import Errand
from assets.tool_dialogue.records import ToolWorld

SMALL = (0, 1, 2, 4)  # of the small clusters; all would be much of a short length, in which other names recur than elsewhere


def draw_companies(recipe: ToolDialogueRecipe, unit: Unit) -> Iterator[tuple[int, ToolWorld]]:
    """Yield the unit's tasks by position; a task follows from seed and position alone."""
    for position in unit.positions:
        yield position, _drawn_world(recipe, position)


def _drawn_world(recipe: ToolDialogueRecipe, position: int) -> ToolWorld:
    domain = _domain_at(position, recipe)
    path = (recipe.world_seed, "tool dialogue", position)
    rng = SeededRandom(*path)
    errand = _errand_at(position, domain, recipe)
    cluster = _cluster_at(position, domain, recipe)
    staff, customers = staff_and_customers(domain, cluster.plans, path=path)
    rows = drawn_rows(domain, customers=customers, staff=staff)
    who, *about = cluster.chain
    settled = [hop.relation for hop in about if hop.relation in domain.matters]
    spec = domain.errands[errand]
    matters = domain.matters_of(spec)
    owned = owned_rows(domain, rows, table=spec.item, customer=who.value)
    names = [row.values[NAME] for row in rows if row.table == STAFF]
    stated = {matter: _stated_value(domain, matter, names, rng) for matter in matters if matter not in settled}
    return ToolWorld(
        task_id=task_id_at(position, recipe),
        hops=len(settled),
        rival_first=rival_first_at(position, recipe),
        errand=Errand(
            domain=domain.name,
            name=errand,
            customer=customer_of(domain, recipe),
            person=who.subject,
            item=rng.choice(owned)[spec.named_by],
            stated=stated,
            settled=tuple(settled),
        ),
        company=domain.model_dump_json(),
        rows=rows,
        chain=cluster.chain,
        plans=cluster.plans,
    )


def _domain_at(position: int, recipe: ToolDialogueRecipe) -> Domain:
    """Return the company of the task at this position, all companies in equal numbers."""
    block, place = divmod(position, len(recipe.domains))
    return domain_named(SeededRandom(recipe.world_seed, "domains", block).shuffled(recipe.domains)[place])


def customer_of(domain: Domain, recipe: ToolDialogueRecipe) -> str:
    """Return the one customer of a company, whose sessions all of its tasks are about."""
    return person(SeededRandom(recipe.world_seed, "tool dialogue", domain.name, "customer"))


def _errand_at(position: int, domain: Domain, recipe: ToolDialogueRecipe) -> str:
    return SeededRandom(recipe.world_seed, "tool dialogue", position, "errand").choice(sorted(domain.errands))


def _cluster_at(position: int, domain: Domain, recipe: ToolDialogueRecipe, taken: frozenset[str] = frozenset()) -> FactCluster:
    """Return what the task at this position is about, and others have as filler; another one where names are taken."""
    errand = _errand_at(position, domain, recipe)
    hops = min(num_hops_at(position, recipe), len(domain.matters_of(domain.errands[errand])))
    path = (recipe.world_seed, "tool dialogue", position, "cluster", *sorted(taken))
    return make_cluster(ServiceDesk(domain, customer_of(domain, recipe), errand), hops, path=path, taken=taken)


def shared_clusters(domain: Domain, recipe: ToolDialogueRecipe) -> SharedClusters:
    """Return what all tasks of a company are about, of which filler is made."""

    def position_of(number: int) -> int:
        first = number * len(recipe.domains)
        return next(at for at in range(first, first + len(recipe.domains)) if _domain_at(at, recipe) == domain)

    desk = ServiceDesk(domain, customer_of(domain, recipe))
    small = small_clusters(desk, path=(recipe.world_seed, "tool dialogue", domain.name), max_hops=recipe.max_hops)
    return SharedClusters(
        lambda number: _cluster_at(position_of(number), domain, recipe),
        lambda number, taken: _cluster_at(position_of(number), domain, recipe, taken),
        [small[number] for number in SMALL if number < len(small)],
    )


def _stated_value(domain: Domain, matter: str, staff: list[str], rng: SeededRandom) -> str:
    relation = next(other for other in relations_of(domain) if other.name == matter)
    return rng.choice(staff) if relation.value == "person" else random_value(relation, rng)


def _rows(world: ToolWorld) -> list[Row]:
    errand = world.errand
    settled = ", ".join(f"{hop.relation}: {hop.value}" for hop in world.chain)
    row: Row = {"company": errand.domain, "errand": errand.name, "customer": errand.customer, "for": errand.person}
    row["about"] = errand.item
    return [{**row, "settled": settled, "sessions": len(world.plans)}]


TD_WORLDS = Stage(
    name="td_worlds",
    record=ToolWorld,
    draw=draw_companies,
    version=2,
    description=AssetDescription(
        group="worlds",
        description="A company for each task: people with what they own, staff, and an errand of one customer for one of her "
        "people. Sessions have to tell who that is and settle some matters, with superseded values and namesakes beside.",
        rows=_rows,
        paper="MemGym",
    ),
)
