"""Stage `code_decisions`: decisions of an invented team around a package, with those they replaced; none is in the code."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES, position_in_package
from assets.code_qa.team.relations import EXECUTED
from assets.code_qa.team.world import TeamWorld, stands_in_code
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.tasks import operation_at, task_id_at
from assets.memory_items.world.clusters import FactCluster, make_cluster, small_clusters
from assets.memory_items.world.filler import SharedClusters
from assets.recipe.code_qa import PackageRecipe
from assets.recipe.document_tasks import Operation
from assets.records.base import ItemFailed
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription

MOST_TRIES = 20  # of decisions of which one stands in the code, or for which calls or functions do not suffice


def plan_decisions(world: TeamWorld, sources: CodeSources, *, recipe: PackageRecipe) -> CodeDecisions:
    """Return decisions of this team that supersede each other. Raises ItemFailed for a package with too little in it."""
    hops = _num_hops(sources.task_id, recipe)
    try:
        cluster = draw_decisions(world, sources, task_id=sources.task_id, operation=sources.operation, recipe=recipe)
    except LookupError as error:
        sentence = f"{sources.package.name} has not {error.args[0]} for a question of {hops} facts."
        raise ItemFailed("rule_violated", sentence) from error
    return CodeDecisions(task_id=sources.task_id, hops=hops, chain=cluster.chain, plans=cluster.plans)


def _num_hops(task_id: str, recipe: PackageRecipe) -> int:
    rng = SeededRandom(recipe.world_seed, task_id, "hops")
    return recipe.min_hops + rng.integer_below(recipe.max_hops - recipe.min_hops + 1)


def draw_decisions(
    world: TeamWorld, sources: CodeSources, *, task_id: str, operation: Operation, recipe: PackageRecipe
) -> FactCluster:
    """Return the decisions of a question on the package, this one or another. Raises LookupError with what it has not."""
    lacking = "decisions that the code has not"
    for attempt in range(MOST_TRIES):
        path = (recipe.world_seed, task_id, "decisions", attempt)
        try:
            cluster = make_cluster(world, _num_hops(task_id, recipe), path=path, operation=operation)
        except LookupError as error:
            lacking = str(error.args[0])
            continue
        if not list(decisions_in_code(cluster, world)) and not _tells_answer_elsewhere(cluster):
            return cluster
    raise LookupError(lacking)


def shared_decisions(world: TeamWorld, sources: CodeSources, *, recipe: PackageRecipe) -> SharedClusters:
    """Return what all questions on the package are about, of which filler is made."""
    package = sources.package.name

    def decisions_at(number: int) -> FactCluster | None:
        position = position_in_package(number, package, recipe)
        operation = operation_at(position, recipe)
        task_id = task_id_at(position, recipe)
        with suppress(LookupError):
            return draw_decisions(world, sources, task_id=task_id, operation=operation, recipe=recipe)

    def decisions_apart(number: int, taken: frozenset[str]) -> FactCluster | None:
        position = position_in_package(number, package, recipe)
        hops = _num_hops(task_id_at(position, recipe), recipe)
        path = (recipe.world_seed, package, "decisions apart", number, *sorted(taken))
        with suppress(LookupError):
            return make_cluster(world, hops, path=path, taken=taken, operation=operation_at(position, recipe))

    small = small_clusters(world, path=(recipe.world_seed, package, "decisions"), max_hops=recipe.max_hops)
    return SharedClusters(decisions_at, decisions_apart, small)


def _tells_answer_elsewhere(cluster: FactCluster) -> bool:
    """Return True where another note shows an executed answer in a call or a result."""
    last = cluster.chain[-1]
    if last.relation not in EXECUTED:
        return False
    for plan in cluster.plans:
        for statement in plan.statements:
            is_answer = (statement.subject, statement.relation) == (last.subject, last.relation)
            if not is_answer and (last.value in statement.subject or last.value in statement.value):
                return True
    return False


def decisions_in_code(decisions: CodeDecisions | FactCluster, world: TeamWorld) -> Iterator[str]:
    """Yield a sentence for each decision that the code holds."""
    for plan in decisions.plans:
        for statement in plan.statements:
            # What was executed is no decision: it follows from the code.
            if statement.relation not in EXECUTED:
                text = stands_in_code(statement, world)
                if text:
                    yield f"{text!r} is in the code of {world.code.package}"


def decisions_stage(
    name: str, world: type[TeamWorld], *, version: int, needs: tuple[Stage[Any], ...], description: str
) -> Stage[CodeDecisions]:
    """Return the stage in which a team of this kind decides, and replaces some of it. `needs`: its package and the calls."""

    async def decide(
        sources: CodeSources, behaviours: CodeBehaviours, *, recipe: PackageRecipe, model: LanguageModel
    ) -> CodeDecisions:
        return plan_decisions(world.of(sources, behaviours, recipe), sources, recipe=recipe)

    return Stage(
        name=name,
        record=CodeDecisions,
        make=decide,
        version=version,
        needs=needs,
        description=AssetDescription(
            group="tasks", description=description, rows=preview_rows("chain", "subject relation value"), paper="MemGym"
        ),
    )


CODE_DECISIONS = decisions_stage(
    "code_decisions",
    TeamWorld,
    version=8,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS),
    description="What an invented team agreed about the package: tickets, patches, limits, owners and reasons, some "
    "of them replaced later. No decision is in the code, by text or by syntax tree; executed results are "
    "true.",
)
