"""Drafts of the queries that begin sessions, and the check of their style (section 3.1; App. C.3, query generation).

Initial queries together reveal all values of the initial state; each later query reveals the updates of one event.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.amemgym.recipe import MAX_STATES_PER_QUERY, AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import Event, StateSchema, TrajectoryPeriod
from assets.amemgym.text_checks import StyleCheck, TextInContext
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, list_of, object_of, object_of_enums
from prompts.catalogue import load_prompt


@dataclass(frozen=True)
class UserContext:
    """What every call about one user's queries needs."""

    profile: UserProfile
    schema: StateSchema
    recipe: AMemGymRecipe
    model: LanguageModel

    def common_variables(self) -> dict[str, object]:
        """The prompt variables that the drafting prompts share."""
        return {
            "user_profile": self.profile.formatted_str,
            "start_date": self.recipe.start_date.isoformat(),
            "language": self.recipe.language_name,
        }

    def style_check(self, *, strict: bool) -> StyleCheck:
        """A check for the replies of one call; a `strict` one lets nothing pass that a rule would block."""
        return StyleCheck(self.recipe.gates.max_reasks, strict=strict)

    def in_context(self, query: str, exposed: Mapping[str, str]) -> TextInContext:
        """A query as the style check sees it."""
        return query_in_context(query, exposed, name=self.profile.name, choices=self.schema.choices, recipe=self.recipe)


def query_in_context(
    query: str, exposed: Mapping[str, str], *, name: str, choices: Mapping[str, Sequence[str]], recipe: AMemGymRecipe
) -> TextInContext:
    """A query of the user of this name, with the values that it exposes among all choices of the schema."""
    others = [value for values in choices.values() for value in values]
    return TextInContext(
        "query", query, recipe.language, tuple(exposed.values()), others, name=name, finder=recipe.gates.contact_data
    )


@dataclass(frozen=True)
class QueryDraft:
    """A query before its gate, the values that it should reveal, and those that hold beside; an initial one has no event."""

    item_id: str
    query: str
    exposed: dict[str, str]
    other_states: dict[str, str]
    event: Event | None = None


@dataclass(frozen=True)
class InitialQuery:
    """A query and the values it reveals."""

    exposed_states: dict[str, str]
    query: str


async def initial_queries(user: UserContext, state: Mapping[str, str]) -> list[InitialQuery]:
    """First drafts, which reveal all of the state. Raises ItemFailed like `ask_structured`.

    The writer groups the values as it likes, as the paper's does. Where the recipe wants fewer in a query than the prompt
    allows, each group is asked for by itself: more calls, each easier.
    """
    most, names = user.recipe.max_states_per_query, list(state)
    if most == MAX_STATES_PER_QUERY:
        return await draft_initial(user, state, others={}, sample=0)
    groups = [{name: state[name] for name in names[start : start + most]} for start in range(0, len(names), most)]
    drafted = await gather_all(
        *(draft_initial(user, group, others=states_beside(group, state), sample=0, whole=True) for group in groups)
    )
    return [query for queries in drafted for query in queries]


def states_beside(exposed: Iterable[str], state: Mapping[str, str]) -> dict[str, str]:
    """The values of all other variables: a query agrees with them and keeps silent on them."""
    names = set(exposed)
    return {name: value for name, value in state.items() if name not in names}


async def draft_initial(
    user: UserContext, state: Mapping[str, str], *, others: Mapping[str, str], sample: int, whole: bool = False
) -> list[InitialQuery]:
    """Queries that reveal this state, or a single one that reveals the `whole` of it. Raises ItemFailed.

    `others` are values that hold as well and stay open.
    """
    prompt = load_prompt("session_queries/initial").render(
        **user.common_variables(),
        state_schema=user.schema.choices,
        initial_state=dict(state),
        other_states=dict(others),
        whole=whole,
    )
    style = user.style_check(strict=whole)

    def convert(reply: dict[str, list[dict[str, Any]]]) -> list[InitialQuery]:
        queries = list(_each_value_once(reply["queries"]))
        _check_coverage([query.exposed_states for query in queries], state)
        style.check(user.in_context(query.query, query.exposed_states) for query in queries)
        return queries

    return await ask_structured(
        user.model, prompt=prompt, reply=_initial_schema(state, whole=whole), convert=convert, sample=sample, recipe=user.recipe
    )


def _initial_schema(state: Mapping[str, str], *, whole: bool) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """The paper's keys; a query reveals current values only, a single query that is `whole` reveals them all."""
    exposed = object_of_enums({name: [value] for name, value in state.items()}, required=whole)
    query, least = object_of({"exposed_states": exposed, "query": TEXT}), -(-len(state) // MAX_STATES_PER_QUERY)
    return ReplySchema(
        object_of({"queries": list_of(query, max_items=1) if whole else list_of(query, min_items=least, max_items=len(state))})
    )


def _each_value_once(queries: Sequence[Mapping[str, Any]]) -> Iterator[InitialQuery]:
    """The queries, each for what none before it reveals; one that reveals nothing new is left out."""
    revealed = set[str]()
    for query in queries:
        exposed: dict[str, str] = {name: value for name, value in query["exposed_states"].items() if name not in revealed}
        revealed.update(exposed)
        if exposed or not query["exposed_states"]:
            yield InitialQuery(exposed, query["query"])


def _check_coverage(exposed: Sequence[Mapping[str, str]], state: Mapping[str, str]) -> None:
    """Raise ValueError unless every query reveals one to three variables, and every variable is revealed."""
    names = [name for query in exposed for name in query]
    if missing := sorted(set(state) - set(names)):
        raise ValueError(f"Every variable is revealed by a query; missing: {missing}.")
    most, sizes = MAX_STATES_PER_QUERY, [len(one) for one in exposed]
    if not all(1 <= size <= most for size in sizes):
        pairs = [names[start : start + 2] for start in range(0, len(names), 2)]
        raise ValueError(f"Every query reveals one to {most} values, not {sizes}; groups like these would do: {pairs}.")


async def draft_updates(user: UserContext, period: TrajectoryPeriod, events: tuple[Event, ...], *, sample: int) -> list[str]:
    """One query for each of the events of a period, in their order. Raises ItemFailed."""
    changes = {update.variable: {"old": update.old, "new": update.new} for update in period.updates}
    revealed = {name for event in events for name in event.states}
    prompt = load_prompt("session_queries/update").render(
        **user.common_variables(),
        state_schema={name: choices for name, choices in user.schema.choices.items() if name in revealed},
        other_states=states_beside(revealed, period.state),
        period={"from": str(period.start), "to": str(period.end)},
        context=[
            {"background": event.text, "state_transition": {name: changes[name] for name in event.states}} for event in events
        ],
    )
    exposed = [{name: changes[name]["new"] for name in event.states} for event in events]
    style = user.style_check(strict=len(events) == 1)

    def convert(reply: dict[str, list[str]]) -> list[str]:
        style.check(map(user.in_context, reply["queries"], exposed))
        return reply["queries"]

    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(
        object_of({"queries": list_of(TEXT, min_items=len(events), max_items=len(events))})
    )
    return await ask_structured(
        user.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, recipe=user.recipe
    )
