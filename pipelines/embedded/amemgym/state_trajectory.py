"""Writes the replies to `state_trajectory/*`: where the person stands at first, and what changes in a period."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.plausibility import fitting_values, parse_profile, unfit_values
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import read_value
from pipelines.embedded.task import PromptTask

SCALE_CONCEPTS = frozenset(
    {"monthly_spare_money", "daily_free_time", "comfort_with_technology"}
)  # concepts whose values form a scale
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
    "career_growth": "work",
    "home_office_setup": "the home office",
    "language_learning": "language study",
    "learning_an_instrument": "music",
    "reading_habit": "reading",
    "recreational_team_sport": "team sport",
    "saving_for_a_goal": "saving",
    "screen_time_balance": "screen time",
    "side_business": "the side business",
    "sleep_routine": "sleep",
    "stress_relief": "everyday stress",
    "team_leadership": "work with the team",
    "vegetable_garden": "the vegetable garden",
    "weeknight_cooking": "cooking",
}
PLAIN_SUMMARIES = (
    "Life went on, with a change here and there.",
    "One thing led to another, and not all stayed as it was.",
)
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


def initial(task: PromptTask) -> dict[str, str]:
    """One value per variable, such as the profile tells or allows; on a scale the middle one somewhat more often."""
    rng = task.rng("initial")
    schema: dict[str, list[str]] = task.data("state_schema")
    person, pairs = parse_profile(task.text("user_profile")), _exclusive(task)
    fitting, unfit = fitting_values(person), unfit_values(schema, person)
    state: dict[str, str] = {}
    for _ in range(MAX_TRIES):
        state = {}
        for name in rng.shuffled(list(schema)):
            free = [value for value in schema[name] if not holds_exclusive({**state, name: value}, pairs)] or schema[name]
            allowed = [value for value in free if value not in unfit.get(name, {})] or free
            told = fitting.get(name, "")
            state[name] = told if told in allowed else _initial_value(name, schema[name], allowed, rng)
        if not holds_exclusive(state, pairs):
            break
    return {name: state[name] for name in schema}


def _exclusive(task: PromptTask) -> list[dict[str, str]]:
    """The pairs of values that the prompt lists as exclusive."""
    table: dict[str, dict[str, dict[str, list[str]]]] = task.data("exclusive") if "exclusive" in task.blocks else {}
    return [
        {name: value, other: paired}
        for name, values in table.items()
        for value, others in values.items()
        for other, choices in others.items()
        for paired in choices
    ]


def holds_exclusive(state: Mapping[str, str], pairs: Iterable[Mapping[str, str]]) -> bool:
    """Whether the state, which may lack variables, holds both values of a pair."""
    return any(pair.items() <= state.items() for pair in pairs)


def _initial_value(name: str, values: Sequence[str], allowed: Sequence[str], rng: SeededRandom) -> str:
    middle = values[len(values) // 2]
    is_middle = name in SCALE_CONCEPTS and middle in allowed and rng.bernoulli(MIDDLE_START_RATE)
    return middle if is_middle else rng.choice(allowed)


def update(task: PromptTask) -> dict[str, Any]:
    """Change about as many variables as asked, those that changed least before the others, to values that can be."""
    rng = task.rng("update")
    moves = _possible_moves(task)
    due = frozenset[str](task.data("due")["of"] if "due" in task.blocks else ())
    new = _settle(_choose_changes(task, moves, rng), moves, due=due)
    return {"period_summary": summary(list(new), rng=rng), "updated": new}


@dataclass(frozen=True)
class PossibleMoves:
    """The state, what each variable may become (the likeliest value first), and the values that exclude each other."""

    now: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    pairs: Sequence[Mapping[str, str]]

    def blockers(self, name: str, value: str) -> list[str]:
        """The variables whose present values exclude this one."""
        held = [pair for pair in self.pairs if pair.get(name) == value and pair.items() <= {**self.now, name: value}.items()]
        return list(dict.fromkeys(other for pair in held for other in pair if other != name))

    def is_free(self, name: str) -> bool:
        """Whether the variable may change with all others as they are."""
        return any(not self.blockers(name, value) for value in self.choices[name])

    def settle(self, names: Sequence[str]) -> dict[str, str] | None:
        """The likeliest new values of these variables that can be true together."""
        drafts = (dict(zip(names, values, strict=True)) for values in product(*(self.choices[name] for name in names)))
        return next((new for new in drafts if not holds_exclusive({**self.now, **new}, self.pairs)), None)


def _possible_moves(task: PromptTask) -> PossibleMoves:
    state = _known_of_variables(task)
    offered: dict[str, list[str]] = {name: own["may_become"] for name, own in state.items() if own["may_become"]}
    unfit = unfit_values(offered, parse_profile(task.text("user_profile")))
    choices: dict[str, list[str]] = {}
    for name, values in offered.items():
        left = [value for value in values if value not in unfit.get(name, {})]
        while left:
            choices.setdefault(name, []).append(_next_value(name, {**state[name], "may_become": left}, task))
            left = [value for value in left if value not in choices[name]]
    return PossibleMoves({name: str(own["now"]) for name, own in state.items()}, choices, _exclusive(task))


def _settle(names: Sequence[str], moves: PossibleMoves, *, due: frozenset[str]) -> dict[str, str]:
    """New values for the names; what blocks one changes too, in place of the last, and another one in place of a stuck one.

    Names that are due to change are kept before any other.
    """
    drafts = [list(names)]
    for name in (name for name in names if not moves.is_free(name)):
        for blockers in (moves.blockers(name, value) for value in moves.choices[name]):
            if set(blockers) <= set(moves.choices):
                drafts.append(list(dict.fromkeys([name, *blockers, *names]))[: len(names)])
    drafts.extend(list(kept) for count in range(len(names) - 1, 0, -1) for kept in combinations(names, count))
    drafts.sort(key=lambda draft: -len(due.intersection(names, draft)))
    new = next(filter(None, map(moves.settle, drafts)), dict[str, str]())
    for name in moves.choices:
        wider = moves.settle([*new, name]) if len(new) < len(names) and name not in new else None
        new = wider or new
    return new


def _choose_changes(task: PromptTask, moves: PossibleMoves, rng: SeededRandom) -> list[str]:
    wanted = task.number(r"about (\d+) variables change", default=4)
    if not task.objection and wanted > 3:
        wanted += rng.choice((-1, -1, 0) if _room_is_scarce(task, wanted) else (-1, 0, 0, 0, 0, 1))
    counts = _change_counts(task)
    drafts = [_rank_variables(task, moves, rng)]
    if "questions" in task.blocks:
        drafts.extend(rng.shuffled(drafts[0]) for _ in range(NUM_DRAFTS))
    # After an objection: what it proposes, else the least changed variables, because they leave most room for later.
    if task.objection:
        proposed: list[str] = re.findall(r"'([^']+)'", task.objection.partition("for instance")[2])
        possible = [*(name for name in proposed if name in moves.choices), *(one for one in drafts[0] if one not in proposed)]
        return possible[: len(proposed) or wanted]
    selections = [_with_companions(draft, counts, wanted=wanted, rng=rng) for draft in drafts]
    return min(selections, key=lambda names: _question_count_error(task, names))


def _known_of_variables(task: PromptTask) -> dict[str, dict[str, Any]]:
    """By variable what the prompt's table says of it, by column; columns that say nothing may be missing."""
    table: dict[str, Any] = task.data("state")
    return {name: dict(zip(table["columns"], row, strict=False)) for name, row in table["variables"].items()}


def _room_is_scarce(task: PromptTask, wanted: int) -> bool:
    """Whether so many changes in each period would use up nearly all that the variables may make."""
    room = len(_known_of_variables(task)) * task.number(r"After (\d+) changes", default=3)
    return room < SCARCE_ROOM * wanted * int(task.data("period").get("steps", 1))


def _change_counts(task: PromptTask) -> dict[str, int]:
    return {name: int(own.get("changes", 0)) for name, own in _known_of_variables(task).items()}


def _rank_variables(task: PromptTask, moves: PossibleMoves, rng: SeededRandom) -> list[str]:
    """Variables that may change: as many as are due to change for the first time, then those that changed least."""
    counts = _change_counts(task)
    stuck = [name for name in moves.choices if not counts.get(name) and not moves.is_free(name)]
    unlocking = {other for name in stuck for value in moves.choices[name] for other in moves.blockers(name, value)}

    def rank(name: str) -> tuple[bool, bool, int, bool]:
        # What others may block later moves while it can, and what keeps another from ever moving moves before it is late.
        is_bound = any(name in pair for pair in moves.pairs)
        return not moves.is_free(name), name not in unlocking, counts.get(name, 0), not is_bound

    ranked = sorted(rng.shuffled(list(moves.choices)), key=rank)
    if "due" not in task.blocks:
        return ranked
    due: dict[str, Any] = task.data("due")
    first = [name for name in ranked if name in due["of"]][: due["at_least"]]
    return [*first, *(name for name in ranked if name not in first)]


def _question_count_error(task: PromptTask, names: Sequence[str]) -> int:
    """How far the number of questions with a changing variable is from what is asked for."""
    if "questions" not in task.blocks:
        return 0
    questions: dict[str, list[str]] = task.data("questions")
    answers: dict[str, int] = task.data("answers")
    count = sum(not set(names).isdisjoint(required) for required in questions.values())
    return abs(2 * count - answers["at_least"] - answers["at_most"])


def _with_companions(ranked: list[str], counts: Mapping[str, int], *, wanted: int, rng: SeededRandom) -> list[str]:
    """The first variables, some of them followed by another one of their topic that changed about as often."""
    chosen: list[str] = []
    for name in ranked:
        if len(chosen) < wanted and name not in chosen:
            chosen.append(name)
            near = [
                other
                for other in ranked
                if other not in chosen and share_topic(name, other) and counts.get(other, 0) <= counts.get(name, 0) + 1
            ]
            if near and len(chosen) < wanted and rng.bernoulli(COMPANION_RATE):
                chosen.append(near[0])
    return chosen


def share_topic(name: str, other: str) -> bool:
    """Whether two variables belong to one topic."""
    topics = load_bank().topics_with
    return any(topic in topics.get(other, ()) for topic in topics.get(name, ()))


def _next_value(name: str, entry: Mapping[str, Any], task: PromptTask) -> str:
    """A value that the variable has not had; on a scale the nearest. The prompt lists values that it never had first."""
    current, values = str(entry["now"]), entry["may_become"]
    earlier = [*entry.get("had", ()), current] if "changes" in entry else []
    fresh = [value for value in values if value not in earlier] or values
    fresh = fresh[:1] if earlier else fresh
    scale = list(load_bank().values.get(name, ())) if name in SCALE_CONCEPTS else []
    if current in scale and all(value in scale for value in fresh):
        return min(fresh, key=lambda value: abs(scale.index(value) - scale.index(current)))
    return task.rng("step", name).choice(fresh)


def retell(task: PromptTask) -> dict[str, str]:
    """A summary that says nothing of the values that a reader took from the earlier one."""
    rng = task.rng("retell")
    reading: dict[str, str] = task.data("reading") if "reading" in task.blocks else {}
    misread = {name: load_bank().values[name] for name in reading if name in load_bank().values}
    changed = list(task.data("state_changes"))
    drafts = [summary(rng.shuffled(changed)[: 1 + rng.integer_below(len(changed))], rng=rng) for _ in range(NUM_DRAFTS)]
    clear = [text for text in drafts if not any(read_value(text, name=name, values=own) for name, own in misread.items())]
    return {"period_summary": next((text for text in clear if text != task.text("summary")), rng.choice(PLAIN_SUMMARIES))}


def summary(names: Sequence[str], *, rng: SeededRandom) -> str:
    """One sentence that names the areas of life which changed, and neither variables nor values."""
    areas = list(dict.fromkeys(life_area(name) for name in names))[:3]
    listed = areas[0] if len(areas) == 1 else f"{', '.join(areas[:-1])} and {areas[-1]}"
    return rng.choice(ONE_AREA_SUMMARIES if len(areas) == 1 else SUMMARIES).format(areas=listed)


def life_area(name: str) -> str:
    """The part of life that a variable belongs to."""
    topics = load_bank().topics_with.get(name, ())
    topic = topics[0].topic if topics else ""
    return LIFE_AREAS.get(name) or TOPIC_AREAS.get(topic) or topic.replace("_", " ") or "everyday matters"
