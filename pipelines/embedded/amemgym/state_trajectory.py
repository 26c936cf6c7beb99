"""Writes the replies to `state_trajectory/*`: where the person stands at first, and what changes in a period."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product, repeat
from typing import Any

from assets.amemgym.records.state import select_values
from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.plausibility import fitting_values, parse_profile, unfit_values
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import read_values, word_set
from pipelines.embedded.task import PromptTask

SCALE_CONCEPTS = word_set("monthly_spare_money daily_free_time comfort_with_technology")  # their values form a scale
MIDDLE_START_RATE = 0.3
MAX_TRIES = 50  # first states that are tried until none of their values exclude each other
NUM_DRAFTS = 20  # further selections of variables to compare, where the number of changed answers matters
SCARCE_ROOM = 1.3  # times the changes of all periods: with less, exclusive values would leave the last periods nothing
COMPANION_RATE = 0.25  # how often a change brings another one of the same part of life with it
LIFE_AREAS = {
    "monthly_spare_money": "money",
    "daily_free_time": "free time",
    "home_type": "the home situation",
    "physical_condition": "health",
    "usual_company": "company",
    "everyday_transport": "getting around",
    "work_pattern": "working hours",
    "comfort_with_technology": "dealing with technology",
}
TOPIC_AREAS = {
    "recreational_team_sport": "team sport",
    "saving_for_a_goal": "saving",
    "screen_time_balance": "screen time",
    "sleep_routine": "sleep",
    "stress_relief": "everyday stress",
    "vegetable_garden": "the vegetable garden",
}
ONE_AREA_SUMMARIES = (
    "A quiet stretch on the whole, apart from what changed in {areas}.",
    "Most of life went on as before, while {areas} took a new turn.",
)
SUMMARIES = (
    "Several things shifted over these months, above all in {areas}.",
    "Life moved on a little in {areas}, and new routines formed around it.",
    "A few turns of events left their mark on {areas}, while the rest went on as before.",
    "These months brought some change in {areas}, one step after another.",
    "Chance and a few decisions played together, and {areas} looked different in the end.",
    "Everyday life rearranged itself here and there, mainly in {areas}.",
)


def choose_first_state(task: PromptTask) -> dict[str, str]:
    """Choose one value per variable, such as the profile tells or allows; on a scale the middle one somewhat more often."""
    rng = task.rng("initial")
    schema: dict[str, list[str]] = task.data("state_schema")
    person = parse_profile(task.text("user_profile"))
    pairs = _exclusive_pairs(task)
    fitting = fitting_values(person)
    unfit = unfit_values(schema, person)
    state: dict[str, str] = {}
    # Values are drawn one by one, and the last ones may be left without a choice that excludes none: then all are drawn anew.
    for _ in range(MAX_TRIES):
        state = {}
        for name in rng.shuffled(list(schema)):
            free = [value for value in schema[name] if not holds_exclusive({**state, name: value}, pairs)] or schema[name]
            allowed = [value for value in free if value not in unfit.get(name, {})] or free
            told = fitting.get(name, "")
            state[name] = told if told in allowed else _initial_value(name, schema[name], allowed, rng)
        if not holds_exclusive(state, pairs):
            break
    return select_values(state, schema)


def _exclusive_pairs(task: PromptTask) -> list[dict[str, str]]:
    """Read the pairs of values that the prompt lists as exclusive: variable, value, other variable, its excluded values."""
    table: dict[str, dict[str, dict[str, list[str]]]] = task.optional_data("exclusive")
    pairs: list[dict[str, str]] = []
    for name, values in table.items():
        for value, others in values.items():
            for other, excluded in others.items():
                for paired in excluded:
                    pairs.append({name: value, other: paired})
    return pairs


def holds_exclusive(state: Mapping[str, str], pairs: Iterable[Mapping[str, str]]) -> bool:
    """Return True when the state, which may lack variables, holds both values of a pair."""
    return any(pair.items() <= state.items() for pair in pairs)


def _initial_value(name: str, values: Sequence[str], allowed: Sequence[str], rng: SeededRandom) -> str:
    middle = values[len(values) // 2]
    if name in SCALE_CONCEPTS and middle in allowed and rng.bernoulli(MIDDLE_START_RATE):
        return middle
    return rng.choice(allowed)


def choose_updates(task: PromptTask) -> dict[str, Any]:
    """Change about as many variables as asked, those that changed least before the others, to values that can be."""
    rng = task.rng("update")
    period = UpdateRequest(task)
    new = _settle(_choose_changes(period, rng), period.moves, due=frozenset(period.due.get("of", ())))
    return {"period_summary": summarize_changes(list(new), rng=rng), "updated": new}


@dataclass(frozen=True)
class PossibleMoves:
    """The state, what each variable may become (the likeliest value first), and the values that exclude each other."""

    now: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    pairs: Sequence[Mapping[str, str]]

    def blockers(self, name: str, value: str) -> list[str]:
        """Return the variables whose present values exclude this one."""
        after = {**self.now, name: value}
        found: dict[str, None] = {}
        for pair in self.pairs:
            if pair.get(name) == value and pair.items() <= after.items():
                found.update(dict.fromkeys(pair))
        found.pop(name, None)
        return list(found)

    def is_free(self, name: str) -> bool:
        """Return True when the variable may change with all others as they are."""
        return any(not self.blockers(name, value) for value in self.choices[name])

    def settle(self, names: Sequence[str]) -> dict[str, str] | None:
        """Return the likeliest new values of these variables that can be true together; None where there are none."""
        for values in product(*(self.choices[name] for name in names)):
            new = dict(zip(names, values, strict=True))
            if not holds_exclusive({**self.now, **new}, self.pairs):
                return new
        return None


@dataclass(frozen=True)
class UpdateRequest:
    """The request for one period's changes, as its prompt puts it."""

    task: PromptTask

    @cached_property
    def variables(self) -> dict[str, dict[str, Any]]:
        """The prompt's table: the entries of each variable that may change, by column, and the value of each that stays."""
        table: dict[str, Any] = self.task.data("state")
        variables: dict[str, dict[str, Any]] = {}
        for name, row in table["may_change"].items():
            variables[name] = dict(zip(table["columns"], row, strict=True))
        for name, value in table["stay"].items():
            variables[name] = {"now": value, "may_become": [], "earlier": []}
        return variables

    @property
    def due(self) -> dict[str, Any]:
        """The variables that are due to change (`of`), and how many of them have to (`at_least`); {} where none are."""
        return self.task.optional_data("due")

    @cached_property
    def change_counts(self) -> dict[str, int]:
        """The number of changes that each variable has made so far."""
        counts: dict[str, int] = {}
        for name, column in self.variables.items():
            counts[name] = len(column["earlier"])
        return counts

    @cached_property
    def moves(self) -> PossibleMoves:
        unfit = unfit_values(load_bank().values, parse_profile(self.task.text("user_profile")))
        now: dict[str, str] = {}
        choices: dict[str, list[str]] = {}
        for name, column in self.variables.items():
            now[name] = str(column["now"])
            left = [value for value in column["may_become"] if value not in unfit.get(name, {})]
            while left:
                value = self._next_value(name, left)
                choices.setdefault(name, []).append(value)
                left.remove(value)
        return PossibleMoves(now, choices, _exclusive_pairs(self.task))

    def _next_value(self, name: str, values: Sequence[str]) -> str:
        """Return a value that the variable has not had, on a scale the nearest. The prompt lists values never had first."""
        column = self.variables[name]
        now = str(column["now"])
        fresh = list(values)
        if column["earlier"]:
            fresh = [value for value in values if value not in column["earlier"]] or fresh
            fresh = fresh[:1]
        scale: Sequence[str] = ()
        if name in SCALE_CONCEPTS:
            scale = load_bank().values.get(name, ())
        if now in scale and set(fresh) <= set(scale):
            return min(fresh, key=lambda value: abs(scale.index(value) - scale.index(now)))
        return self.task.rng("step", name).choice(fresh)

    def room_is_scarce(self, wanted: int) -> bool:
        """Return True when so many changes in each period would use up nearly all that the variables may make."""
        room = len(self.variables) * self.task.number(r"After (\d+) changes", default=3)
        return room < SCARCE_ROOM * wanted * int(self.task.data("period").get("steps", 1))

    def question_count_error(self, names: Sequence[str]) -> int:
        """Return how far the number of questions with a changing variable is from what is asked for."""
        questions: dict[str, list[str]] = self.task.optional_data("questions")
        if not questions:
            return 0
        answers: dict[str, int] = self.task.data("answers")
        count = 0
        for required in questions.values():
            if not set(names).isdisjoint(required):
                count += 1
        return abs(2 * count - answers["at_least"] - answers["at_most"])


def _settle(names: Sequence[str], moves: PossibleMoves, *, due: frozenset[str]) -> dict[str, str]:
    """Return new values for the names. What blocks one changes too, in place of the last; another takes a stuck one's place.

    Names that are due to change are kept before any other.
    """
    drafts = [list(names)]
    for name in names:
        if moves.is_free(name):
            continue
        for value in moves.choices[name]:
            blockers = moves.blockers(name, value)
            if set(blockers) <= set(moves.choices):
                drafts.append(list(dict.fromkeys([name, *blockers, *names]))[: len(names)])
    # Fewer changes only where so many cannot be true together; what is due comes first, as no later period may take it.
    for count in range(len(names) - 1, 0, -1):
        drafts.extend(map(list, combinations(names, count)))
    drafts.sort(key=lambda draft: -len(due.intersection(names, draft)))
    new = _first_settled(drafts, moves)
    for name in moves.choices:
        if len(new) < len(names) and name not in new:
            new = moves.settle([*new, name]) or new
    return new


def _first_settled(drafts: Sequence[Sequence[str]], moves: PossibleMoves) -> dict[str, str]:
    """Return the new values of the first draft whose variables can all change; {} where none can."""
    for draft in drafts:
        new = moves.settle(draft)
        if new:
            return new
    return {}


def _choose_changes(period: UpdateRequest, rng: SeededRandom) -> list[str]:
    """Choose the variables to change: of several selections the one that changes about as many answers as asked."""
    task = period.task
    wanted = task.number(r"about (\d+) variables change", default=4)
    if task.objection:
        # What it proposes, else the least changed variables, because they leave most room for later.
        proposed: list[str] = re.findall(r"'([^']+)'", task.objection.partition("for instance")[2])
        ranked = dict.fromkeys([*proposed, *_rank_variables(period, rng)])
        possible = [name for name in ranked if name in period.moves.choices]
        return possible[: len(proposed) or wanted]
    if wanted > 3:
        fewer_or_more = (-1, -1, 0) if period.room_is_scarce(wanted) else (-1, 0, 0, 0, 0, 1)
        wanted += rng.choice(fewer_or_more)
    ranked = _rank_variables(period, rng)
    drafts = [ranked]
    if "questions" in task.blocks:
        drafts += map(rng.shuffled, repeat(ranked, NUM_DRAFTS))
    selections: list[list[str]] = []
    for draft in drafts:
        selections.append(_with_companions(draft, period.change_counts, wanted=wanted, rng=rng))
    return min(selections, key=period.question_count_error)


def _rank_variables(period: UpdateRequest, rng: SeededRandom) -> list[str]:
    """Rank variables that may change: as many as are due to change for the first time, then those that changed least."""
    moves = period.moves
    counts = period.change_counts
    unlocking: set[str] = set()
    for name in moves.choices:
        if not counts.get(name) and not moves.is_free(name):
            for value in moves.choices[name]:
                unlocking.update(moves.blockers(name, value))

    bound = set(chain.from_iterable(moves.pairs))

    def rank(name: str) -> tuple[bool, bool, int, bool]:
        # What others may block later moves while it can, and what keeps another from ever moving moves before it is late.
        return not moves.is_free(name), name not in unlocking, counts.get(name, 0), name not in bound

    ranked = sorted(rng.shuffled(list(moves.choices)), key=rank)
    due = period.due
    if not due:
        return ranked
    first = [name for name in ranked if name in due["of"]][: due["at_least"]]
    return list(dict.fromkeys([*first, *ranked]))


def _with_companions(ranked: list[str], counts: Mapping[str, int], *, wanted: int, rng: SeededRandom) -> list[str]:
    """Return the first variables, some of them followed by another one of their topic that changed about as often."""
    chosen: list[str] = []
    for name in ranked:
        if len(chosen) == wanted:
            break
        if name in chosen:
            continue
        chosen.append(name)
        companion = _companion(name, ranked, chosen, counts)
        if companion and len(chosen) < wanted and rng.bernoulli(COMPANION_RATE):
            chosen.append(companion)
    return chosen


def _companion(name: str, ranked: Sequence[str], chosen: Sequence[str], counts: Mapping[str, int]) -> str | None:
    for other in ranked:
        if other not in chosen and share_topic(name, other) and counts.get(other, 0) <= counts.get(name, 0) + 1:
            return other
    return None


def share_topic(name: str, other: str) -> bool:
    """Return True when two variables belong to one topic."""
    topics = load_bank().topics_with
    return any(topic in topics.get(other, ()) for topic in topics.get(name, ()))


def retell_summary(task: PromptTask) -> dict[str, str]:
    """Write a summary that says nothing of the values that a reader took from the earlier one."""
    rng = task.rng("retell")
    misread = load_bank().choices_of(task.optional_data("reading"))
    changed = list(task.data("state_changes"))
    text = ""
    for _ in range(NUM_DRAFTS):
        text = summarize_changes(rng.shuffled(changed)[: 1 + rng.integer_below(len(changed))], rng=rng)
        if text != task.text("summary") and not read_values(text, misread):
            return {"period_summary": text}
    return {"period_summary": text}


def summarize_changes(names: Sequence[str], *, rng: SeededRandom) -> str:
    """Write one sentence that names the areas of life which changed, and neither variables nor values."""
    areas = list(dict.fromkeys(map(life_area, names)))[:3]
    if len(areas) == 1:
        return rng.choice(ONE_AREA_SUMMARIES).format(areas=areas[0])
    listed = f"{', '.join(areas[:-1])} and {areas[-1]}"
    return rng.choice(SUMMARIES).format(areas=listed)


def life_area(name: str) -> str:
    """Return the part of life that a variable belongs to."""
    topics = load_bank().topics_with.get(name, ())
    topic = topics[0].topic if topics else ""
    return LIFE_AREAS.get(name) or TOPIC_AREAS.get(topic) or topic.replace("_", " ") or "everyday matters"


def named_areas(text: str, names: Iterable[str]) -> set[str]:
    """Return the areas of life of these variables that a text names; of two, one within the other, the longer one."""
    areas = {area for area in map(life_area, names) if re.search(rf"\b{re.escape(area)}\b", text)}
    return {area for area in areas if not any(area in other for other in areas - {area})}
