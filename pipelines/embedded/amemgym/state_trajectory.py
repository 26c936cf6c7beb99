"""Writes the replies to `state_trajectory/*`: where the person stands at first, and what changes in a period."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.bank import load_bank
from pipelines.embedded.task import Task

ORDERED = frozenset({"monthly_spare_money", "daily_free_time"})  # concepts whose values form a scale
MIDDLE_FIRST = 0.3
RECONSIDERED = 20  # choices of variables, where the number of changed answers matters
COMPANION = 0.25  # how often a change brings another one of the same part of life with it
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
ONE_AREA = (
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


def initial(task: Task) -> dict[str, str]:
    """One value per variable; on a scale rather the middle."""
    rng = task.rng("initial")
    schema: dict[str, list[str]] = task.data("state_schema")
    return {name: _start(name, values, rng) for name, values in schema.items()}


def _start(name: str, values: list[str], rng: SeededRandom) -> str:
    middle = values[len(values) // 2]
    return middle if name in ORDERED and rng.bernoulli(MIDDLE_FIRST) else rng.choice(values)


def update(task: Task) -> dict[str, Any]:
    """Change about as many variables as asked, those that changed least before the others."""
    rng = task.rng("update")
    offered: dict[str, list[str]] = task.data("state_schema")
    visited: list[dict[str, str]] = task.data("prior_updates")
    names = _changing(task, offered, rng)
    new = {name: _step(name, offered[name], task, visited=visited) for name in names}
    return {"period_summary": summary(names, rng=rng), "updated": new}


def _changing(task: Task, offered: Mapping[str, list[str]], rng: SeededRandom) -> list[str]:
    wanted = task.number(r"about (\d+) variables change", default=4)
    if not task.objection and wanted > 3:
        wanted += rng.choice((-1, 0, 0, 0, 0, 1))
    counts: dict[str, int] = task.data("update_counts")
    drafts = [_ranked(task, offered, rng)]
    if "questions" in task.blocks:
        drafts.extend(rng.shuffled(drafts[0]) for _ in range(RECONSIDERED))
    # After an objection: what it proposes, else the least changed variables, because they leave most room for later.
    if task.objection:
        proposal = task.objection.partition("for instance")[2]
        return [name for name in re.findall(r"'([^']+)'", proposal) if name in offered] or drafts[0][:wanted]
    chosen = [_with_companions(draft, counts, wanted=wanted, rng=rng) for draft in drafts]
    return min(chosen, key=lambda names: _missed(task, names))


def _ranked(task: Task, offered: Mapping[str, list[str]], rng: SeededRandom) -> list[str]:
    """Variables on offer: as many as are due to change for the first time, then those that changed least."""
    counts: dict[str, int] = task.data("update_counts")
    ranked = sorted(rng.shuffled(list(offered)), key=lambda name: counts.get(name, 0))
    if "due" not in task.blocks:
        return ranked
    due: dict[str, Any] = task.data("due")
    first = [name for name in ranked if name in due["of"]][: due["at_least"]]
    return [*first, *(name for name in ranked if name not in first)]


def _missed(task: Task, names: Sequence[str]) -> int:
    """How far the number of questions with a changing variable is from what is asked for."""
    if "questions" not in task.blocks:
        return 0
    questions: dict[str, list[str]] = task.data("questions")
    answers: dict[str, int] = task.data("answers")
    count = sum(not set(names).isdisjoint(required) for required in questions.values())
    return abs(2 * count - answers["at_least"] - answers["at_most"])


def _with_companions(ranked: list[str], counts: Mapping[str, int], *, wanted: int, rng: SeededRandom) -> list[str]:
    chosen: list[str] = []
    for name in ranked:
        if len(chosen) < wanted and name not in chosen:
            chosen.append(name)
            near = [
                other
                for other in ranked
                if other not in chosen and related(name, other) and counts.get(other, 0) <= counts.get(name, 0) + 1
            ]
            if near and len(chosen) < wanted and rng.bernoulli(COMPANION):
                chosen.append(near[0])
    return chosen


def related(one: str, other: str) -> bool:
    """Whether two variables belong to one topic."""
    homes = load_bank().homes
    return any(topic in homes.get(other, ()) for topic in homes.get(one, ()))


def _step(name: str, values: list[str], task: Task, *, visited: list[dict[str, str]]) -> str:
    """A value that the variable has not had; on a scale the nearest. What it never had stands first."""
    current: dict[str, str] = task.data("current_state")
    before = [updates[name] for updates in visited if name in updates]
    fresh = [value for value in values if value not in before] or values
    fresh = fresh[:1] if before else fresh
    scale = list(load_bank().values.get(name, ())) if name in ORDERED else []
    if current.get(name) in scale and all(value in scale for value in fresh):
        return min(fresh, key=lambda value: abs(scale.index(value) - scale.index(current[name])))
    return task.rng("step", name).choice(fresh)


def summary(names: Sequence[str], *, rng: SeededRandom) -> str:
    """One sentence that names the areas of life which changed, and neither variables nor values."""
    areas = list(dict.fromkeys(area(name) for name in names))[:3]
    listed = areas[0] if len(areas) == 1 else f"{', '.join(areas[:-1])} and {areas[-1]}"
    return rng.choice(ONE_AREA if len(areas) == 1 else SUMMARIES).format(areas=listed)


def area(name: str) -> str:
    """The part of life that a variable belongs to."""
    homes = load_bank().homes.get(name, ())
    topic = homes[0].topic if homes else ""
    return LIFE_AREAS.get(name) or TOPIC_AREAS.get(topic) or topic.replace("_", " ") or "everyday matters"
