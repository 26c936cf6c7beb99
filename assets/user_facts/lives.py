"""Stage `facts_lives`: for each user the facts, what becomes of them, and the session in which each is said."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.memory_items.world.relations import person, spoken
from assets.recipe.loading import Unit
from assets.recipe.user_facts import Fate, UserFactsRecipe
from assets.reporting.asset_description import AssetDescription, Row
from assets.user_facts.matters import ValueMaker, all_matters, label_of
from assets.user_facts.records import FactLife, FactState, FactStatement, PlannedSession, RuleCase, Shape
from assets.user_facts.states import Dated, state_on

OTHERS = ("sister", "neighbour", "colleague", "cousin", "friend")
LEAST_CASES = 3  # of a rule
OF_ONE = 2  # facts at most that follow from the same one
SPARE = 2  # values of each matter that nobody has


def draw_lives(recipe: UserFactsRecipe, unit: Unit) -> Iterator[tuple[int, FactLife]]:
    """Yield the unit's users by position; a user follows from seed and position alone."""
    for position in unit.positions:
        yield position, _LifeDraw(recipe, position).life()


class _LifeDraw:
    """Draws one life. Sessions have three parts: facts are told, then they change, and the last one has nothing of its own."""

    def __init__(self, recipe: UserFactsRecipe, position: int) -> None:
        self._recipe = recipe
        self._path = (recipe.world_seed, "user facts", position)
        self._rng = SeededRandom(*self._path)
        self._values = ValueMaker(SeededRandom(*self._path, "values"))
        self._last = recipe.num_sessions - 1
        self._told_before = max(2, recipe.num_sessions // 3)
        self._said: dict[int, list[FactStatement]] = defaultdict(list)
        # The values that each fact has had, in order of time.
        self._had: dict[str, list[str]] = defaultdict(list)

    def life(self) -> FactLife:
        fates = self._fates()
        unsaid = self._unsaid(fates)
        for matter, fate in fates.items():
            if fate not in ("dependent", "merged"):
                self._live(matter, fate)
        for matter, fate in fates.items():
            if fate == "merged":
                self._merge(matter)
        # What decides comes before what follows.
        for matter in all_matters():
            if fates.get(matter) == "dependent":
                self._follow(matter)
        for matter in (*fates, *unsaid):
            self._tell_of_others(matter)
        sessions = self._sessions()
        return FactLife(
            user_id=hashlib.sha256("\x1f".join(map(str, self._path)).encode()).hexdigest()[:16],
            name=person(SeededRandom(*self._path, "name")),
            sessions=sessions,
            states=states_after(sessions),
            unsaid=tuple(unsaid),
            spare={matter: self._spare(matter) for matter in (*fates, *unsaid)},
        )

    def _fates(self) -> dict[str, Fate]:
        """Return what becomes of each fact. Facts that others follow from change, the last of them by being withdrawn."""
        left = self._recipe.dynamics.counts(self._recipe.num_facts)
        fates: dict[str, Fate] = {}
        dependents = self._dependents(left.pop("dependent"))
        roots = list(dict.fromkeys(_root(matter) for matter in dependents))
        for number, root in enumerate(roots):
            is_last = number == len(roots) - 1
            fate: Fate = "withdrawn" if is_last and number and left["withdrawn"] else "replaced"
            fates[root] = fate
            left[fate] -= 1
        fates |= dict.fromkeys(dependents, "dependent")
        # A fact that becomes the same as another one needs it to stay.
        for matter in self._rng.sample([name for name, one in all_matters().items() if one.like], left.pop("merged")):
            fates |= {matter: "merged", all_matters()[matter].like: "steady"}
            left["steady"] -= 1
        free = self._rng.shuffled([name for name, one in all_matters().items() if not one.follows and name not in fates])
        # Only some matters have values that could be more exact.
        for fate in sorted(left, key=lambda one: one != "narrowed"):
            for _ in range(max(0, left[fate])):
                fitting = [name for name in free if fate != "narrowed" or all_matters()[name].coarse]
                free.remove(fitting[0])
                fates[fitting[0]] = fate
        return fates

    def _dependents(self, count: int) -> list[str]:
        """Return so many facts that follow from others, none without what decides it."""
        roots = self._rng.shuffled(list(dict.fromkeys(_root(name) for name, one in all_matters().items() if one.follows)))
        found: list[str] = []
        for root in roots:
            of_root = [name for name, one in all_matters().items() if one.follows and _root(name) == root]
            found += of_root[: min(OF_ONE, count - len(found))]
        return found

    def _unsaid(self, fates: Iterable[str]) -> list[str]:
        taken = set(fates)
        free = [name for name, one in all_matters().items() if not one.follows and name not in taken]
        return self._rng.sample(free, self._recipe.num_unsaid)

    def _live(self, matter: str, fate: Fate) -> None:
        """Tell the fact, and what becomes of it."""
        first = self._rng.integer_below(self._told_before)
        value = self._values.coarse(matter) if fate == "narrowed" else self._values.new(matter)
        until = None
        if fate == "ending":
            # Between the tellings and the end of the life, on no day of a session.
            until = self._day(self._change_at()) + timedelta(days=1)
        shape: Shape = "until" if until else "told"
        self._say(first, FactStatement(matter=matter, label=label_of(matter), shape=shape, value=value, until=until))
        if fate == "replaced":
            count = 1 + self._rng.integer_below(self._recipe.max_changes)
            for at in self._changes_at(count):
                self._tell(at, matter, "replaced", self._values.new(matter))
        elif fate == "as_before":
            change, back = self._changes_at(2)
            self._tell(change, matter, "replaced", self._values.new(matter))
            self._tell(back, matter, "as_before")
        elif fate == "withdrawn":
            self._tell(self._change_at(), matter, "withdrawn")
        elif fate == "narrowed":
            self._tell(self._change_at(), matter, "narrowed", self._values.new(matter))
        elif fate == "forgotten":
            # One session at least comes after a mail that tells it again.
            at = self._told_before + self._rng.integer_below(self._last - 2 - self._told_before)
            self._tell(at, matter, "forget")
            if self._recipe.dynamics.refeed:
                again = at + 1 + self._rng.integer_below(self._last - 1 - at)
                self._tell(again, matter, "refed", value)

    def _merge(self, matter: str) -> None:
        """Tell a fact, and that it is the same as another one from a day on."""
        other = all_matters()[matter].like
        self._tell(self._rng.integer_below(self._told_before), matter, "told", self._values.new(matter))
        merged = FactStatement(
            matter=matter,
            label=label_of(matter),
            shape="merged",
            value=self._had[other][-1],
            other=label_of(other),
            other_matter=other,
        )
        self._say(self._change_at(), merged)

    def _follow(self, matter: str) -> None:
        """Tell the rule by which a fact follows from another, with a value for each that the other may have."""
        decides = all_matters()[matter].follows
        given = list(dict.fromkeys(self._had[decides]))
        while len(given) < LEAST_CASES:
            given.append(self._values.new(decides))
        cases = [RuleCase(given=one, then=self._values.new(matter)) for one in given]
        self._had[matter] = [case.then for case in cases]
        rule = FactStatement(
            matter=matter,
            label=label_of(matter),
            shape="rule",
            other=label_of(decides),
            other_matter=decides,
            cases=tuple(self._rng.shuffled(cases)),
        )
        self._say(self._rng.integer_below(self._told_before), rule)

    def _tell_of_others(self, matter: str) -> None:
        """Tell the same matter of somebody else, in a session that does not speak of the user's own."""
        free = [at for at in range(self._last + 1) if matter not in {one.matter for one in self._said[at]}]
        at = self._rng.choice(free)
        whose = self._rng.choice(OTHERS)
        value = self._values.new(matter)
        self._say(at, FactStatement(matter=matter, label=label_of(matter), shape="other", value=value, other=whose))

    def _tell(self, at: int, matter: str, shape: Shape, value: str = "") -> None:
        """Say something that needs no more than a value."""
        self._say(at, FactStatement(matter=matter, label=label_of(matter), shape=shape, value=value))

    def _say(self, at: int, one: FactStatement) -> None:
        if one.shape in ("withdrawn", "as_before", "forget"):
            one = one.model_copy(update={"unspoken": tuple(self._had[one.matter])})
        self._said[at].append(one)
        if one.value and one.shape not in ("other", "refed"):
            self._had[one.matter].append(one.value)

    def _change_at(self) -> int:
        return self._changes_at(1)[0]

    def _changes_at(self, count: int) -> list[int]:
        """Return the numbers of so many sessions in which a fact may change, in order."""
        return sorted(self._rng.sample(range(self._told_before, self._last), count))

    def _day(self, at: int) -> date:
        return self._recipe.start_date + timedelta(days=at * self._recipe.days_between)

    def _sessions(self) -> tuple[PlannedSession, ...]:
        found: list[PlannedSession] = []
        for at in range(self._last + 1):
            # Days apart are even, so that what ends the day after a session has ended before the next.
            minutes = self._rng.integer_below(12 * 60)
            when = datetime.combine(self._day(at), time(8)) + timedelta(minutes=minutes)
            found.append(PlannedSession(at=when, statements=tuple(self._rng.shuffled(self._said[at]))))
        return tuple(found)

    def _spare(self, matter: str) -> tuple[str, ...]:
        return tuple(self._values.new(matter) for _ in range(SPARE))


def _root(matter: str) -> str:
    """Return the matter that decides this one in the end."""
    follows = all_matters()[matter].follows
    return _root(follows) if follows else matter


def states_after(sessions: Sequence[PlannedSession]) -> tuple[FactState, ...]:
    """Return the state after each session, as it follows from what was said until then."""
    dated = [Dated(one.at.date(), one.statements) for one in sessions]
    return tuple(FactState(values=state_on(dated, one.day)) for one in dated)


def _rows(life: FactLife) -> list[Row]:
    rows: list[Row] = []
    for number, session in enumerate(life.sessions):
        for one in session.statements:
            rows.append(
                {"session": number, "on": spoken(session.at.date()), "fact": one.label, "what": one.shape, "value": one.value}
            )
    return rows


FACTS_LIVES = Stage(
    name="facts_lives",
    record=FactLife,
    draw=draw_lives,
    description=AssetDescription(
        group="lives",
        description="For each user the facts, what becomes of them, and the session in which each is said. There are "
        "corrections, ends, rules by which facts follow, requests to forget, and mails that tell again what was to be "
        "forgotten.",
        rows=_rows,
        paper="MemGym",
    ),
)
