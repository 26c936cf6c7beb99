"""Stage `facts_lives`: for each user the facts, what becomes of them, and the session in which each is said."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.relations import name_stem
from assets.recipe.user_facts import Fate, UserFactsRecipe
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.user_facts.matters import FACTS_MATTERS, SLOT, root_of
from assets.user_facts.people import FACTS_PEOPLE
from assets.user_facts.records import (
    FactLife,
    FactMatter,
    FactMatters,
    FactPerson,
    FactStatement,
    PlannedSession,
    RuleCase,
    Shape,
)

OTHERS = ("sister", "neighbour", "colleague", "cousin", "friend")
LEAST_CASES = 3  # of a rule
SPARE = 2  # values of each matter that nobody has
SYLLABLES = 2  # of a value's name


async def draw_life(person: FactPerson, drafted: FactMatters, *, recipe: UserFactsRecipe, model: LanguageModel) -> FactLife:
    """Draw what is said of the matters, and when; no model is asked."""
    return _LifeDraw(recipe, person, drafted.matters).life()


class _ValueMaker:
    """Makes the values of one user. No two hold the same name, so that each tells where it came from."""

    def __init__(self, rng: SeededRandom) -> None:
        self._rng = rng
        self._taken: set[str] = set()

    def new(self, form: str) -> str:
        """Return a value of this form."""
        # The first letters differ as well, so that no name is taken for another one.
        name = name_stem(self._rng, SYLLABLES)
        while name[:4] in self._taken:
            name = name_stem(self._rng, SYLLABLES)
        self._taken.add(name[:4])
        # A model wrote the form, so it is no template for `format`.
        return form.replace(SLOT, name)


class _LifeDraw:
    """Draws one life. Sessions have three parts: facts are told, then they change, and the last one has nothing of its own."""

    def __init__(self, recipe: UserFactsRecipe, person: FactPerson, matters: Sequence[FactMatter]) -> None:
        self._recipe = recipe
        self._person = person
        self._matters = {matter.name: matter for matter in matters}
        self._names = {matter.label: matter.name for matter in matters}
        path = (recipe.world_seed, "user facts", person.user_id)
        self._rng = SeededRandom(*path)
        self._values = _ValueMaker(SeededRandom(*path, "values"))
        self._last = recipe.num_sessions - 1
        self._told_before = max(2, recipe.num_sessions // 3)
        self._said: dict[int, list[FactStatement]] = defaultdict(list)
        # The values that each fact has had, in order of time.
        self._had: dict[str, list[str]] = defaultdict(list)

    def life(self) -> FactLife:
        fates = self._fates()
        unsaid = [matter for matter in self._matters if matter not in fates]
        for matter, fate in fates.items():
            if fate not in ("dependent", "merged"):
                self._live(matter, fate)
        for matter, fate in fates.items():
            if fate == "merged":
                self._merge(matter)
        followed: set[str] = set()
        for matter in self._matters:
            self._follow(matter, followed)
        for matter in (*fates, *unsaid):
            # One of each matter at least: a wrong answer may be somebody else's value.
            free = [at for at in range(self._last + 1) if matter not in self._matters_said(at)]
            self._tell_of_others(self._rng.choice(free), matter)
        for at in range(self._last + 1):
            unsaid_here = [matter for matter in self._matters if matter not in self._matters_said(at)]
            for matter in self._rng.sample(unsaid_here, min(self._recipe.others_per_session, len(unsaid_here))):
                self._tell_of_others(at, matter)
        return FactLife(
            user_id=self._person.user_id,
            name=self._person.name,
            labels={name: matter.label for name, matter in self._matters.items()},
            sessions=self._sessions(),
            unsaid=tuple(unsaid),
            spare={matter: tuple(self._new(matter) for _ in range(SPARE)) for matter in (*fates, *unsaid)},
        )

    def _fates(self) -> dict[str, Fate]:
        """Return what becomes of each fact. Facts that others follow from change, the last of them by being withdrawn."""
        left = self._recipe.dynamics.counts(self._recipe.num_facts)
        fates: dict[str, Fate] = {}
        by_label = {matter.label: matter for matter in self._matters.values()}
        roots = list(dict.fromkeys(root_of(matter.label, by_label) for matter in by_label.values() if matter.follows))
        for number, root in enumerate(roots):
            is_last = number == len(roots) - 1
            fate: Fate = "withdrawn" if is_last and number and left["withdrawn"] else "replaced"
            fates[self._names[root]] = fate
            left[fate] -= 1
        for name, matter in self._matters.items():
            if matter.follows:
                fates[name] = "dependent"
            elif matter.like:
                # A fact that becomes the same as another one needs it to stay.
                fates |= {name: "merged", self._names[matter.like]: "steady"}
                left["steady"] -= 1
            elif matter.coarse:
                fates[name] = "narrowed"
        free = self._rng.shuffled([name for name in self._matters if name not in fates])
        for fate in left:
            if fate not in ("dependent", "merged", "narrowed"):
                for _ in range(left[fate]):
                    fates[free.pop()] = fate
        return fates

    def _live(self, matter: str, fate: Fate) -> None:
        """Tell the fact, and what becomes of it."""
        first = self._rng.integer_below(self._told_before)
        value = self._values.new(self._matters[matter].coarse) if fate == "narrowed" else self._new(matter)
        until = None
        if fate == "ending":
            # Between the tellings and the end of the life, on no day of a session.
            until = self._day(self._change_at()) + timedelta(days=1)
        shape: Shape = "until" if until else "told"
        self._tell(first, matter, shape, value, until=until)
        if fate == "replaced":
            count = 1 + self._rng.integer_below(self._recipe.max_changes)
            for at in self._changes_at(count):
                self._tell(at, matter, "replaced", self._new(matter))
        elif fate == "as_before":
            change, back = self._changes_at(2)
            self._tell(change, matter, "replaced", self._new(matter))
            self._tell(back, matter, "as_before")
        elif fate == "withdrawn":
            self._tell(self._change_at(), matter, "withdrawn")
        elif fate == "narrowed":
            self._tell(self._change_at(), matter, "narrowed", self._new(matter))
        elif fate == "forgotten":
            # One session at least comes after a mail that tells it again.
            at = self._told_before + self._rng.integer_below(self._last - 2 - self._told_before)
            self._tell(at, matter, "forget")
            again = at + 1 + self._rng.integer_below(self._last - 1 - at)
            self._tell(again, matter, "refed", value)

    def _merge(self, matter: str) -> None:
        """Tell a fact, and that it is the same as another one from a day on."""
        other = self._names[self._matters[matter].like]
        self._tell(self._rng.integer_below(self._told_before), matter, "told", self._new(matter))
        self._tell(self._change_at(), matter, "merged", self._had[other][-1], **self._beside(other))

    def _follow(self, matter: str, followed: set[str]) -> None:
        """Tell the rule by which a fact follows from another, with a value for each that the other may have."""
        if matter in followed or not self._matters[matter].follows:
            return
        followed.add(matter)
        decides = self._names[self._matters[matter].follows]
        # What decides comes before what follows.
        self._follow(decides, followed)
        given = list(dict.fromkeys(self._had[decides]))
        while len(given) < LEAST_CASES:
            given.append(self._new(decides))
        cases = [RuleCase(given=value, then=self._new(matter)) for value in given]
        self._had[matter] = [case.then for case in cases]
        shuffled = self._rng.shuffled(cases)
        at = self._rng.integer_below(self._told_before)
        self._tell(at, matter, "rule", **self._beside(decides), cases=shuffled)

    def _beside(self, other: str) -> dict[str, str]:
        """Return the fields that name the other matter of a statement."""
        return {"other": self._matters[other].label, "other_matter": other}

    def _matters_said(self, at: int) -> set[str]:
        return {statement.matter for statement in self._said[at]}

    def _tell_of_others(self, at: int, matter: str) -> None:
        """Tell the same matter of somebody else, in a session that does not speak of the user's own."""
        whose = self._rng.choice(OTHERS)
        self._tell(at, matter, "other", self._new(matter), other=whose)

    def _tell(self, at: int, matter: str, shape: Shape, value: str = "", **more: object) -> None:
        """Say something of a matter; `more`: other fields of the statement."""
        if shape in ("withdrawn", "as_before", "forget"):
            more["unspoken"] = self._had[matter]
        fields = {"matter": matter, "label": self._matters[matter].label, "shape": shape, "value": value}
        self._said[at].append(FactStatement.model_validate({**fields, **more}))
        if value and shape not in ("other", "refed"):
            self._had[matter].append(value)

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

    def _new(self, matter: str) -> str:
        """Return a value of the matter that nobody has."""
        return self._values.new(self._matters[matter].value)


FACTS_LIVES = Stage(
    name="facts_lives",
    version=2,
    record=FactLife,
    make=draw_life,
    needs=(FACTS_PEOPLE, FACTS_MATTERS),
    description=AssetDescription(
        group="lives",
        description="For each user the facts, what becomes of them, and the session in which each is said. There are "
        "corrections, ends, rules by which facts follow, requests to forget, and mails that tell again what was to be "
        "forgotten.",
        rows=preview_rows("sessions.statements", "on=at fact=label what=shape value"),
        paper="MemGym",
    ),
)
