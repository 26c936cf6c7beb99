"""Stage `code_decisions`: decisions of an invented team around a package, with those they replaced; none is in the code."""

from collections.abc import Iterator

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.relations import EXECUTED
from assets.code_qa.team.world import TeamWorld, stands_in_code
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.clusters import FactCluster, make_cluster
from assets.recipe.code_qa import CodeQaRecipe
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

MOST_TRIES = 20  # of decisions of which one stands in the code, or for which calls or functions do not suffice


async def decide(
    sources: CodeSources, behaviours: CodeBehaviours, *, recipe: CodeQaRecipe, model: LanguageModel
) -> CodeDecisions:
    """Return decisions that supersede each other, in plans of notes. Raises ItemFailed for a package with too little in it."""
    rng = SeededRandom(recipe.world_seed, sources.task_id, "hops")
    hops = recipe.min_hops + rng.integer_below(recipe.max_hops - recipe.min_hops + 1)
    world = TeamWorld(sources, behaviours.behaviours, code_vocabulary(sources, recipe.packages))
    lacking = "decisions that the code has not"
    for attempt in range(MOST_TRIES):
        try:
            cluster = make_cluster(world, hops, path=(recipe.world_seed, sources.task_id, "decisions", attempt))
        except LookupError as error:
            lacking = str(error.args[0])
            continue
        if not list(decisions_in_code(cluster, sources, recipe)) and not _tells_answer_elsewhere(cluster):
            return CodeDecisions(task_id=sources.task_id, hops=hops, chain=cluster.chain, plans=cluster.plans)
    raise ItemFailed("rule_violated", f"{sources.package.name} has not {lacking} for a question of {hops} facts.")


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


def decisions_in_code(decisions: CodeDecisions | FactCluster, sources: CodeSources, recipe: CodeQaRecipe) -> Iterator[str]:
    """Yield a sentence for each decision that the code holds."""
    vocabulary = code_vocabulary(sources, recipe.packages)
    for plan in decisions.plans:
        for statement in plan.statements:
            # What was executed is no decision: it follows from the code.
            if statement.relation not in EXECUTED:
                text = stands_in_code(statement, sources, vocabulary)
                if text:
                    yield f"{text!r} is in the code of {sources.package.name}"


def _rows(decisions: CodeDecisions) -> list[Row]:
    return [{"subject": hop.subject, "relation": hop.relation, "value": hop.value} for hop in decisions.chain]


CODE_DECISIONS = Stage(
    name="code_decisions",
    record=CodeDecisions,
    make=decide,
    version=2,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS),
    description=AssetDescription(
        group="questions",
        description="What an invented team agreed about the package: tickets, patches, limits, owners and reasons, some "
        "of them replaced later. No decision is in the code, by text or by syntax tree; executed results are "
        "true.",
        rows=_rows,
        paper="MemGym",
    ),
)
