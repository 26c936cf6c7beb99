"""Noise: sessions that tell nothing new of the user's state. A program draws what each is about, and a writer words it.

A session of noise is unrelated to the state, restates a value that holds, tells the value of somebody else, or speaks of one as
a plan, a wish or the past. It is about variables that its period leaves alone, so that it is true on any day of the period.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import accumulate, islice
from math import ceil
from typing import Any, TypeVar

from assets.amemgym.records.state import NOISE_KINDS, UNRELATED, SessionKind, StateTrajectory, TrajectoryPeriod
from assets.amemgym.session_queries.drafts import NoiseKey, UserContext
from assets.amemgym.state_trajectory.days import first_day_of_sessions
from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, list_of, object_of, object_of_enums
from prompts.catalogue import load_prompt

T = TypeVar("T")
TIMES = ("plan_or_wish", "past")
# Who lives with the user shares home, money and habits: their value would deny the user's.
HOUSEHOLD = frozenset(("wife", "husband", "spouse", "partner", "son", "daughter", "child", "roommate", "housemate", "flatmate"))
ACQUAINTANCE = "somebody I know"  # for a value that nobody of the cast can have
PERSONS = 3  # of the cast, among whom a writer chooses
SUBJECTS = (
    "getting candle wax out of a tablecloth",
    "a formula that adds up a column of a spreadsheet",
    "a short toast for a retirement dinner",
    "how long an opened jar of mustard keeps",
    "a riddle for a nine-year-old",
    "converting an oven temperature from Celsius to Fahrenheit",
    "what to write in a card of condolence",
    "removing a sticker from a window pane",
    "why leaves change color in the fall",
    "a polite reminder about a bill that somebody has not paid",
    "how to fold a fitted sheet",
    "how to make the letters on a screen larger",
    "which side of a plate the fork goes on",
    "how to turn a photograph into a file of one page",
    "how to read the date on a carton of eggs",
    "the meaning of an old saying about a stitch in time",
    "wrapping a present that has an odd shape",
    "how to spell a word with two double letters",
    "why the moon looks larger near the horizon",
    "a polite way to return a dish to a stranger",
    "what the small pocket on jeans is for",
    "how to stop messages from an unknown sender",
    "how many stamps a heavy letter needs",
    "the order of the names on an invitation",
    "opening a jar whose lid is stuck",
    "how to pronounce a French street name",
    "getting a squeak out of a door hinge",
    "what the letters after a surname mean",
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
        self._people = self.turns(people)
        self._offered = min(PERSONS, len(people))
        self._times = self.turns(TIMES)
        self._used = Counter[str]()

    def kinds(self, count: int) -> list[SessionKind]:
        drawn: list[SessionKind] = []
        while len(drawn) < count:
            drawn.extend(self._rng.shuffled(NOISE_KINDS))
        return drawn[:count]

    def turns(self, items: Sequence[T]) -> Iterator[T]:
        """Yield the items without an end, each once before any comes again."""
        while items:
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
            persons = (*islice(self._people, self._offered), ACQUAINTANCE)
            return NoiseKey(kind, day, mentions={name: self._rng.choice(others)}, persons=tuple(dict.fromkeys(persons)))
        time = next(self._times)
        had = [earlier.state[name] for earlier in self._periods[: period.index] if earlier.state[name] != value]
        if time == "past" and had:
            others = had[-1:]
        else:
            # A plan that comes true announces a change, and a story of the past may deny it. The longer until then, the better.
            waits = {choice: self._periods_until(name, choice, period) for choice in others}
            others = [choice for choice in others if waits[choice] == max(waits.values())]
        return NoiseKey(kind, day, mentions={name: self._rng.choice(others)}, mentioned_as=time)

    def _periods_until(self, name: str, value: str, period: TrajectoryPeriod) -> int:
        """Return in how many periods the variable takes this value, or one more than there are if it never does."""
        for later in self._periods[period.index + 1 :]:
            if later.state[name] == value:
                return later.index - period.index
        return len(self._periods)


async def draft_noise(
    user: UserContext,
    drawn: Sequence[tuple[TrajectoryPeriod, NoiseKey]],
    *,
    sample: int,
    refused: Mapping[str, object] | None = None,
) -> list[tuple[NoiseKey, str]]:
    """Return each key, with the person whose value it speaks of, and its query. Raises ItemFailed.

    Keys come with their periods. Of other facts a writer sees the names alone, so that nothing that lies ahead is told.
    `refused`: of a single key, the message that judges misread, and what they read out of it.
    """
    keys = [key for _, key in drawn]
    of_others = {str(number): key.persons for number, key in enumerate(keys, start=1) if key.persons}
    assignments: list[dict[str, object]] = []
    for period, key in drawn:
        words = user.draw_words(key.day, key.kind, values=len(key.exposed | key.mentions))
        assignments.append(key.in_prompt(period.state, user.schema.choices, words=words))
    prompt = load_prompt("session_queries/noise").render(
        **user.common_variables(),
        facts=list(user.schema.choices),
        assignments=assignments,
        refused=dict(refused or {}),
    )
    style = user.style_check(alone=len(keys) == 1)

    def convert(reply: dict[str, Any]) -> list[tuple[NoiseKey, str]]:
        written: list[tuple[NoiseKey, str]] = []
        for number, (key, query) in enumerate(zip(keys, reply["queries"], strict=True), start=1):
            if key.persons:
                # Asked for alone once more, the message stays that person's.
                person = reply["persons"][str(number)]
                written.append((replace(key, mentioned_as=person, persons=(person,)), query))
            else:
                written.append((key, query))
        style.check(user.in_context(query, key.exposed | key.mentions, day=key.day) for key, query in written)
        return written

    parts = {"queries": list_of(PROSE, min_items=len(keys), max_items=len(keys))}
    if of_others:
        parts["persons"] = object_of_enums(of_others)
    reply_schema: ReplySchema[dict[str, Any]] = ReplySchema(object_of(parts))
    return await ask_structured(
        user.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=user.recipe.asking
    )
