"""Drafts of the queries that begin sessions, and the check of their style (section 3.1; App. C.3, query generation).

Initial queries together reveal all values of the initial state; each later query reveals the updates of one event. Noise,
whose drafts are in `noise.py`, reveals nothing new.
"""

from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import TELLS, Event, SessionKind, StateSchema, TrajectoryPeriod, select_values, without
from assets.amemgym.state_trajectory.days import with_weekday
from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, list_of, object_of, object_of_enums
from assets.recipe.amemgym import MAX_STATES_PER_QUERY, AMemGymRecipe, values_apart
from assets.text.text_checks import StyleCheck, TextInContext
from prompts.catalogue import load_prompt

SHORT = range(15, 30)  # words of a message
USUAL = range(30, 60)
LONG = range(60, 101)


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
            "user_profile": self.profile.in_prompt,
            "start_date": self.recipe.start_date.isoformat(),
            "language": self.recipe.language_name,
            "voice": self.profile.cast.voice,
        }

    def draw_words(self, *path: object, values: int = 1) -> int:
        """Return a message's length in words, by its path. With several values it is not short, with none not long."""
        rng = SeededRandom(self.recipe.world_seed, self.profile.user_id, "words", *path)
        return rng.choice(rng.choice((USUAL if values > 1 else SHORT, USUAL, USUAL, LONG if values else SHORT)))

    def style_check(self, *, alone: bool) -> StyleCheck:
        """Return a check for the replies of one call, for one query `alone` or several."""
        return StyleCheck.of_texts(self.recipe.gates.max_reasks, alone=alone)

    def in_context(self, query: str, exposed: Mapping[str, str], *, day: date) -> TextInContext:
        """Return a query of this day as the style check sees it."""
        return query_in_context(query, exposed, day=day, profile=self.profile, choices=self.schema.choices, recipe=self.recipe)


def query_in_context(
    query: str,
    exposed: Mapping[str, str],
    *,
    day: date,
    profile: UserProfile,
    choices: Mapping[str, Sequence[str]],
    recipe: AMemGymRecipe,
) -> TextInContext:
    """Return a query that the user types on this day, with the values that it exposes or mentions, and their alternatives."""
    others: list[str] = []
    for variable, value in exposed.items():
        others += [choice for choice in choices.get(variable, ()) if choice != value]
    return TextInContext(
        "query",
        query,
        recipe.language,
        tuple(exposed.values()),
        others,
        name=profile.name,
        day=day,
        roles=profile.cast.names_by_role,
        rooms=profile.cast.rooms,
    )


@dataclass(frozen=True)
class NoiseKey:
    """What one session of noise is about, and its day. `mentioned_as`: whose `mentions` are, or the time in which they hold.

    `persons`: among whom the writer chooses somebody whose the value can be.
    """

    kind: SessionKind
    day: date
    subject: str = ""
    exposed: dict[str, str] = field(default_factory=dict[str, str])
    mentions: dict[str, str] = field(default_factory=dict[str, str])
    mentioned_as: str = ""
    persons: tuple[str, ...] = ()

    def in_prompt(self, state: Mapping[str, str], choices: Mapping[str, Sequence[str]], *, words: int) -> dict[str, object]:
        """Return the assignment as the writer gets it, with the keys of its kind alone."""
        shown: dict[str, object] = {"kind": self.kind, "typed_on": with_weekday(self.day), "words": words}
        if self.subject:
            shown["subject"] = self.subject
        if self.kind == "not_now":
            shown["as"] = self.mentioned_as
        if self.persons:
            shown["persons"] = self.persons
        for name, value in self.exposed.items():
            shown["fact"] = {name: {"holds": value, "not": [choice for choice in choices[name] if choice != value]}}
        for name, value in self.mentions.items():
            shown["fact"] = {name: {"spoken_of": value, "holds_for_me": state[name]}}
        return shown


@dataclass(frozen=True)
class QueryDraft:
    """A query before its gate, the values that it should reveal, and those that hold beside.

    An initial one has no event, and only noise has a key. `day`: on which the user types it, or before which no initial one is
    typed.
    """

    item_id: str
    query: str
    exposed: dict[str, str]
    other_states: dict[str, str]
    day: date
    event: Event | None = None
    key: NoiseKey | None = None


def session_ids(period: int, kinds: Iterable[str]) -> Iterator[str]:
    """Yield the names of a period's queries in the gate records; noise and the others count from 1, each by themselves."""
    counts = Counter[str]()
    for kind in kinds:
        letter = "s" if kind == TELLS else "n"
        counts[letter] += 1
        yield f"{letter}{period:02d}-{counts[letter]:02d}"


@dataclass(frozen=True)
class InitialQuery:
    """A query and the values it reveals."""

    exposed_states: dict[str, str]
    query: str


async def initial_queries(user: UserContext, state: Mapping[str, str], *, day: date) -> list[InitialQuery]:
    """Return first drafts, which reveal all of the state. Raises ItemFailed like `ask_structured`.

    The writer groups the values as it likes, as the paper's does. Where the recipe wants fewer in a query than the prompt
    allows, each group is asked for by itself: more calls, each easier.
    """
    most = user.recipe.max_states_per_query
    if not values_apart(user.recipe):
        return await draft_initial(user, state, others={}, day=day, sample=0)
    calls: list[Coroutine[Any, Any, list[InitialQuery]]] = []
    values = list(state.items())
    for start in range(0, len(values), most):
        group = dict(values[start : start + most])
        calls.append(draft_initial(user, group, others=without(state, group), day=day, sample=0, whole=True))
    return list(chain.from_iterable(await gather_all(*calls)))


async def draft_initial(
    user: UserContext, state: Mapping[str, str], *, others: Mapping[str, str], day: date, sample: int, whole: bool = False
) -> list[InitialQuery]:
    """Return queries that reveal this state, or a single one that reveals the `whole` of it. Raises ItemFailed.

    `others` are values that hold as well and stay open. `day`: before which none is typed.
    """
    if whole:
        words = [user.draw_words(*state, values=len(state))]
    else:
        words = [user.draw_words("initial", number) for number in range(len(state))]
    prompt = load_prompt("session_queries/initial").render(
        **{**user.common_variables(), "start_date": day.isoformat()},
        state_schema=user.schema.choices,
        initial_state=dict(state),
        other_states=dict(others),
        words=words,
        whole=whole,
    )
    style = user.style_check(alone=whole)

    def convert(reply: dict[str, list[dict[str, Any]]]) -> list[InitialQuery]:
        queries = list(_each_value_once(reply["queries"]))
        _check_coverage(queries, state)
        style.check(user.in_context(query.query, query.exposed_states, day=day) for query in queries)
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


async def draft_updates(
    user: UserContext, period: TrajectoryPeriod, told: Sequence[tuple[Event, date]], *, sample: int
) -> list[str]:
    """Return one query for each event of a period, given with the day on which the user types it. Raises ItemFailed."""
    changes: dict[str, dict[str, str]] = {}
    for update in period.updates:
        changes[update.variable] = {"old": update.old, "new": update.new}
    states = [event.states for event, _ in told]
    revealed = set(chain.from_iterable(states))
    context: list[dict[str, object]] = []
    for event, day in told:
        transition = select_values(changes, event.states)
        told_when = {"happened_on": with_weekday(event.day), "typed_on": with_weekday(day)}
        words = user.draw_words(day, values=len(transition))
        context.append({**told_when, "words": words, "background": event.text, "state_transition": transition})
    prompt = load_prompt("session_queries/update").render(
        **user.common_variables(),
        state_schema={name: choices for name, choices in user.schema.choices.items() if name in revealed},
        other_states=without(period.state, revealed),
        period={"from": str(period.start), "to": str(period.end)},
        context=context,
    )
    style = user.style_check(alone=len(told) == 1)

    def in_context(query: str, event: tuple[Event, date]) -> TextInContext:
        return user.in_context(query, period.values_of(event[0].states), day=event[1])

    def convert(reply: dict[str, list[str]]) -> list[str]:
        style.check(map(in_context, reply["queries"], told))
        return reply["queries"]

    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(
        object_of({"queries": list_of(PROSE, min_items=len(told), max_items=len(told))})
    )
    return await ask_structured(
        user.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=user.recipe.asking
    )
