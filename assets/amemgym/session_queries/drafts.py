"""Drafts of the queries that begin sessions, and the check of their style (section 3.1; App. C.3, query generation).

Initial queries together reveal all values of the initial state; each later query reveals the updates of one event.
"""

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import Event, StateSchema, TrajectoryPeriod, selected, without
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, list_of, object_of, object_of_enums
from assets.recipe.amemgym import MAX_STATES_PER_QUERY, AMemGymRecipe, values_apart
from assets.text.text_checks import StyleCheck, TextInContext
from prompts.catalogue import load_prompt


@dataclass(frozen=True)
class UserContext:
    """The parts of one user that every call about the user's queries needs."""

    profile: UserProfile
    schema: StateSchema
    recipe: AMemGymRecipe
    model: LanguageModel

    def common_variables(self) -> dict[str, object]:
        """Return the prompt variables that the drafting prompts share."""
        return {
            "user_profile": self.profile.formatted_str,
            "start_date": self.recipe.start_date.isoformat(),
            "language": self.recipe.language_name,
        }

    def style_check(self, *, alone: bool) -> StyleCheck:
        """Return a check for the replies of one call, for one query `alone` or several."""
        return StyleCheck.of_texts(self.recipe.gates.max_reasks, alone=alone)

    def in_context(self, query: str, exposed: Mapping[str, str]) -> TextInContext:
        """Return a query as the style check sees it."""
        return query_in_context(query, exposed, name=self.profile.name, choices=self.schema.choices, recipe=self.recipe)


def query_in_context(
    query: str, exposed: Mapping[str, str], *, name: str, choices: Mapping[str, Sequence[str]], recipe: AMemGymRecipe
) -> TextInContext:
    """Return a query of the user of this name, with the values that it exposes among all choices of the schema."""
    others = list(chain.from_iterable(choices.values()))
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


def session_id(period: int, number: int) -> str:
    """Return the name of a session's query in the gate records; the sessions of a period count from 1."""
    return f"s{period:02d}-{number:02d}"


@dataclass(frozen=True)
class InitialQuery:
    """A query and the values it reveals."""

    exposed_states: dict[str, str]
    query: str


async def initial_queries(user: UserContext, state: Mapping[str, str]) -> list[InitialQuery]:
    """Return first drafts, which reveal all of the state. Raises ItemFailed like `ask_structured`.

    The writer groups the values as it likes, as the paper's does. Where the recipe wants fewer in a query than the prompt
    allows, each group is asked for by itself: more calls, each easier.
    """
    most = user.recipe.max_states_per_query
    if not values_apart(user.recipe):
        return await draft_initial(user, state, others={}, sample=0)
    calls: list[Coroutine[Any, Any, list[InitialQuery]]] = []
    values = list(state.items())
    for start in range(0, len(values), most):
        group = dict(values[start : start + most])
        calls.append(draft_initial(user, group, others=without(state, group), sample=0, whole=True))
    return list(chain.from_iterable(await gather_all(*calls)))


async def draft_initial(
    user: UserContext, state: Mapping[str, str], *, others: Mapping[str, str], sample: int, whole: bool = False
) -> list[InitialQuery]:
    """Return queries that reveal this state, or a single one that reveals the `whole` of it. Raises ItemFailed.

    `others` are values that hold as well and stay open.
    """
    prompt = load_prompt("session_queries/initial").render(
        **user.common_variables(),
        state_schema=user.schema.choices,
        initial_state=dict(state),
        other_states=dict(others),
        whole=whole,
    )
    style = user.style_check(alone=whole)

    def convert(reply: dict[str, list[dict[str, Any]]]) -> list[InitialQuery]:
        queries = list(_each_value_once(reply["queries"]))
        _check_coverage(queries, state)
        style.check(user.in_context(query.query, query.exposed_states) for query in queries)
        return queries

    return await ask_structured(
        user.model,
        prompt=prompt,
        reply=_initial_schema(state, whole=whole),
        convert=convert,
        sample=sample,
        settings=user.recipe.asking,
    )


def _initial_schema(state: Mapping[str, str], *, whole: bool) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """Return the paper's keys; a query reveals current values only, a single query that is `whole` reveals them all."""
    exposed = object_of_enums({name: [value] for name, value in state.items()}, required=whole)
    query = object_of({"exposed_states": exposed, "query": PROSE})
    if whole:
        return ReplySchema(object_of({"queries": list_of(query, max_items=1)}))
    # As few as the values allow; that they are all covered is checked afterwards, for no schema can say so.
    fewest = -(-len(state) // MAX_STATES_PER_QUERY)
    return ReplySchema(object_of({"queries": list_of(query, min_items=fewest, max_items=len(state))}))


def _each_value_once(queries: Sequence[Mapping[str, Any]]) -> Iterator[InitialQuery]:
    """Yield the queries, each for what none before it reveals; one that reveals nothing new is left out."""
    revealed: dict[str, str] = {}
    for query in queries:
        values: dict[str, str] = query["exposed_states"]
        exposed = without(values, revealed)
        revealed.update(exposed)
        # One without any value stays, so that the check of coverage objects to it.
        if exposed or not values:
            yield InitialQuery(exposed, query["query"])


def _check_coverage(queries: Sequence[InitialQuery], state: Mapping[str, str]) -> None:
    """Raise ValueError unless every query reveals one to three variables, and every variable is revealed."""
    names: list[str] = []
    for query in queries:
        names.extend(query.exposed_states)
    missing = sorted(set(state) - set(names))
    if missing:
        raise ValueError(f"Every variable is revealed by a query; missing: {missing}.")
    most = MAX_STATES_PER_QUERY
    sizes = [len(query.exposed_states) for query in queries]
    if min(sizes) < 1 or max(sizes) > most:
        pairs = [names[start : start + 2] for start in range(0, len(names), 2)]
        raise ValueError(f"Every query reveals one to {most} values, not {sizes}; groups like these would do: {pairs}.")


async def draft_updates(user: UserContext, period: TrajectoryPeriod, events: tuple[Event, ...], *, sample: int) -> list[str]:
    """Return one query for each of the events of a period, in their order. Raises ItemFailed."""
    changes: dict[str, dict[str, str]] = {}
    for update in period.updates:
        changes[update.variable] = {"old": update.old, "new": update.new}
    states = [event.states for event in events]
    revealed = set(chain.from_iterable(states))
    context: list[dict[str, object]] = []
    for event in events:
        context.append({"background": event.text, "state_transition": selected(changes, event.states)})
    prompt = load_prompt("session_queries/update").render(
        **user.common_variables(),
        state_schema={name: choices for name, choices in user.schema.choices.items() if name in revealed},
        other_states=without(period.state, revealed),
        period={"from": str(period.start), "to": str(period.end)},
        context=context,
    )
    style = user.style_check(alone=len(events) == 1)

    def convert(reply: dict[str, list[str]]) -> list[str]:
        exposed = map(period.values_of, states)
        style.check(map(user.in_context, reply["queries"], exposed))
        return reply["queries"]

    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(
        object_of({"queries": list_of(PROSE, min_items=len(events), max_items=len(events))})
    )
    return await ask_structured(
        user.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=user.recipe.asking
    )
