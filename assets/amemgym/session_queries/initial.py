"""Drafts of the queries that open a life: each tells some values of the initial state, together they tell all (App. C.3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.amemgym.session_queries.exposure_gate import Scene
from assets.engine.item_tasks import together
from assets.llm.reply_schema import TEXT, ReplySchema, list_of, object_of, object_of_enums
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import MAX_STATES_PER_QUERY
from prompts.catalogue import load_prompt


@dataclass(frozen=True)
class InitialQuery:
    """A query and the values it reveals."""

    exposed_states: dict[str, str]
    query: str


async def initial_queries(scene: Scene, state: Mapping[str, str]) -> list[InitialQuery]:
    """First drafts, which tell all of the state. Raises UserFailed like `ask`.

    The writer groups the values as it likes, as the paper's does. Where the recipe wants fewer in a query than the prompt
    allows, each group is asked for by itself: more calls, each easier.
    """
    most, names = scene.recipe.max_states_per_query, list(state)
    if most == MAX_STATES_PER_QUERY:
        return await draft_initial(scene, state, sample=0)
    groups = [{name: state[name] for name in names[start : start + most]} for start in range(0, len(names), most)]
    drafted = await together(*(draft_initial(scene, group, sample=0, whole=True) for group in groups))
    return [query for queries in drafted for query in queries]


async def draft_initial(scene: Scene, state: Mapping[str, str], *, sample: int, whole: bool = False) -> list[InitialQuery]:
    """Queries that tell this state, or a single one that tells the `whole` of it. Raises UserFailed like `ask`."""
    prompt = load_prompt("session_queries/initial").render(
        **scene.common(),
        state_schema=scene.schema.choices,
        initial_state=dict(state),
        other_variables=[name for name in scene.schema.choices if name not in state],
        whole=whole,
    )
    voice = scene.voice()

    def convert(reply: dict[str, list[dict[str, Any]]]) -> list[InitialQuery]:
        queries = list(_each_value_once(reply["queries"]))
        _check_coverage([query.exposed_states for query in queries], state)
        voice.check([query.query for query in queries])
        return queries

    return await ask_structured(
        scene.model, prompt=prompt, reply=_reply_schema(state, whole=whole), convert=convert, sample=sample, recipe=scene.recipe
    )


def _reply_schema(state: Mapping[str, str], *, whole: bool) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """The paper's keys; a query tells current values only, a single query that is `whole` tells them all."""
    exposed = object_of_enums({name: [value] for name, value in state.items()}, required=whole)
    query, least = object_of({"exposed_states": exposed, "query": TEXT}), -(-len(state) // MAX_STATES_PER_QUERY)
    return ReplySchema(
        object_of({"queries": list_of(query, max_items=1) if whole else list_of(query, min_items=least, max_items=len(state))})
    )


def _each_value_once(queries: Sequence[Mapping[str, Any]]) -> Iterator[InitialQuery]:
    """The queries, each for what none before it tells; one that tells nothing new is left out."""
    told = set[str]()
    for query in queries:
        exposed: dict[str, str] = {name: value for name, value in query["exposed_states"].items() if name not in told}
        told.update(exposed)
        if exposed or not query["exposed_states"]:
            yield InitialQuery(exposed, query["query"])


def _check_coverage(exposed: Sequence[Mapping[str, str]], state: Mapping[str, str]) -> None:
    """Raise ValueError unless every query reveals one to three variables, and every variable is revealed."""
    names = [name for one in exposed for name in one]
    if missing := sorted(set(state) - set(names)):
        raise ValueError(f"Every variable is revealed by a query; missing: {missing}.")
    most, sizes = MAX_STATES_PER_QUERY, [len(one) for one in exposed]
    if not all(1 <= size <= most for size in sizes):
        pairs = [names[start : start + 2] for start in range(0, len(names), 2)]
        raise ValueError(f"Every query reveals one to {most} values, not {sizes}; groups like these would do: {pairs}.")
