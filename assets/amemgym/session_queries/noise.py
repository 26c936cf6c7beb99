"""Noise: sessions that tell nothing new of the user's state. A program draws what each is about, and a writer words it.

A session of noise is unrelated to the state, restates a value that holds, tells the value of somebody else, or speaks of one as
a plan, a wish or the past. It is about variables that its period leaves alone, so that it is true on any day of the period.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, islice
from math import ceil
from typing import TypeVar

from assets.amemgym.records.state import NOISE_KINDS, UNRELATED, SessionKind, StateTrajectory, TrajectoryPeriod, without
from assets.amemgym.session_queries.drafts import NoiseKey, UserContext
from assets.amemgym.state_trajectory.days import first_day_of_sessions
from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, list_of, object_of
from assets.text.text_checks import TextInContext
from prompts.catalogue import load_prompt

T = TypeVar("T")
TIMES = ("plan_or_wish", "past")
# Who lives with the user shares home, money and habits: their value would deny the user's.
HOUSEHOLD = frozenset(("wife", "husband", "spouse", "partner", "son", "daughter", "child", "roommate", "housemate", "flatmate"))
RELATIONS = ("my sister", "my neighbor", "an old friend of mine", "my cousin", "a colleague of mine", "my brother")
SUBJECTS = (
    "getting candle wax out of a tablecloth",
    "the difference between a crow and a raven",
    "a short toast for a retirement dinner",
    "how long an opened jar of mustard keeps",
    "a riddle for a nine-year-old",
    "converting an oven temperature from Celsius to Fahrenheit",
    "what to write in a card of condolence",
    "removing a sticker from a window pane",
    "why leaves change color in the fall",
    "a name for a boat in a story",
    "how to fold a fitted sheet",
    "the rules of a three-legged race",
    "which side of a plate the fork goes on",
    "a limerick about a clumsy penguin",
    "how to read the date on a carton of eggs",
    "the meaning of an old saying about a stitch in time",
    "wrapping a present that has an odd shape",
    "how to spell a word with two double letters",
    "why the moon looks larger near the horizon",
    "a polite way to return a dish to a stranger",
    "what the small pocket on jeans is for",
    "telling a real pearl from a fake one",
    "how many stamps a heavy letter needs",
    "a trivia question about volcanoes",
    "opening a jar whose lid is stuck",
    "how to pronounce a French street name",
    "getting a squeak out of a door hinge",
    "what a comet is made of",
    "a caption for an old family picture",
    "how to address an envelope to a judge",
)


def draw_noise(user: UserContext, trajectory: StateTrajectory, told: Sequence[int]) -> list[list[NoiseKey]]:
    """Return the noise of each period, in the order of its sessions. `told`: how many other sessions each period has.

    So many that they are the recipe's share of all sessions at least, spread as the others are.
    """
    share = user.recipe.noise_share
    counts: list[int] = []
    for others in accumulate(told):
        # Rounded, because a share such as 0.35 / 0.65 of 13 would come out a hair above 7.
        counts.append(ceil(round(others * share / (1 - share), 6)) - sum(counts))
    keys = _KeyDraw(user, trajectory)
    kinds = keys.kinds(sum(counts))
    drawn: list[list[NoiseKey]] = []
    for period, count in zip(trajectory.periods, counts, strict=True):
        possible: list[SessionKind] = [*islice(_possible_kinds(kinds, period), count)]
        for kind in possible:
            kinds.remove(kind)
        drawn.append(keys.of_period(period, possible, count=count))
    return drawn


def _possible_kinds(kinds: Sequence[SessionKind], period: TrajectoryPeriod) -> Iterator[SessionKind]:
    """Yield the kinds but `restates` in the initial period: what holds then may be told later in it than it is restated."""
    for kind in kinds:
        if period.index or kind != "restates":
            yield kind


class _KeyDraw:
    """Draws keys so that subjects, persons, times and variables take turns."""

    def __init__(self, user: UserContext, trajectory: StateTrajectory) -> None:
        self._recipe = user.recipe
        self._choices = user.schema.choices
        self._periods = trajectory.periods
        self._rng = SeededRandom(user.recipe.world_seed, user.profile.user_id, "noise")
        self._subjects = self.turns(SUBJECTS)
        people: list[str] = []
        for person in user.profile.cast.people:
            if HOUSEHOLD.isdisjoint(person.relation.lower().split()):
                people.append(f"my {person.relation} {person.name}")
        self._persons = self.turns(people or RELATIONS)
        self._times = self.turns(TIMES)
        self._used = Counter[str]()

    def kinds(self, count: int) -> list[SessionKind]:
        drawn: list[SessionKind] = []
        while len(drawn) < count:
            drawn.extend(self._rng.shuffled(NOISE_KINDS))
        return drawn[:count]

    def turns(self, items: Sequence[T]) -> Iterator[T]:
        """Yield the items without an end, each once before any comes again."""
        while True:
            yield from self._rng.shuffled(items)

    def of_period(self, period: TrajectoryPeriod, kinds: Sequence[SessionKind], *, count: int) -> list[NoiseKey]:
        """Return keys of these kinds; what is missing to so many, or finds no variable at rest, is unrelated."""
        keys: list[NoiseKey] = []
        free = set(period.state) - set(period.changed)
        first = first_day_of_sessions(self._recipe, period.index)
        for number in range(count):
            kind = kinds[number] if number < len(kinds) else UNRELATED
            day = first + timedelta(days=self._rng.integer_below((period.end - first).days))
            if kind == UNRELATED or not free:
                keys.append(NoiseKey(UNRELATED, day, subject=next(self._subjects)))
                continue
            name = self._least_used(free)
            free.remove(name)
            keys.append(self._about(name, kind, period, day=day))
        return keys

    def _least_used(self, names: set[str]) -> str:
        name = min(self._rng.shuffled(sorted(names)), key=self._used.__getitem__)
        self._used[name] += 1
        return name

    def _about(self, name: str, kind: SessionKind, period: TrajectoryPeriod, *, day: date) -> NoiseKey:
        value = period.state[name]
        if kind == "restates":
            return NoiseKey(kind, day, exposed={name: value})
        others = [choice for choice in self._choices[name] if choice != value]
        if kind == "of_another":
            return NoiseKey(kind, day, mentions={name: self._rng.choice(others)}, mentioned_as=next(self._persons))
        time = next(self._times)
        had = [earlier.state[name] for earlier in self._periods[: period.index] if earlier.state[name] != value]
        if time == "past" and had:
            others = had[-1:]
        elif time != "past":
            # A plan that comes true would announce the next change.
            others = [choice for choice in others if choice != self._next_value(name, period)] or others
        return NoiseKey(kind, day, mentions={name: self._rng.choice(others)}, mentioned_as=time)

    def _next_value(self, name: str, period: TrajectoryPeriod) -> str | None:
        for later in self._periods[period.index + 1 :]:
            if name in later.changed:
                return later.state[name]
        return None


async def draft_noise(
    user: UserContext,
    period: TrajectoryPeriod,
    keys: Sequence[NoiseKey],
    *,
    sample: int,
    refused: Mapping[str, object] | None = None,
) -> list[str]:
    """Return one query for each key, in their order. Raises ItemFailed.

    `refused`: of a single key, the message that judges misread, and what they read out of it.
    """
    spoken_of = {name for key in keys for name in (*key.exposed, *key.mentions)}
    prompt = load_prompt("session_queries/noise").render(
        **user.common_variables(),
        period={"from": str(period.start or ""), "to": str(period.end)},
        other_states=without(period.state, spoken_of),
        assignments=[key.in_prompt(period.state, user.schema.choices) for key in keys],
        refused=dict(refused or {}),
    )
    style = user.style_check(alone=len(keys) == 1)

    def convert(reply: dict[str, list[str]]) -> list[str]:
        queries = reply["queries"]
        texts: list[TextInContext] = []
        for query, key in zip(queries, keys, strict=True):
            texts.append(user.in_context(query, key.exposed | key.mentions, day=key.day))
        style.check(texts)
        return queries

    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(
        object_of({"queries": list_of(PROSE, min_items=len(keys), max_items=len(keys))})
    )
    return await ask_structured(
        user.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=user.recipe.asking
    )
