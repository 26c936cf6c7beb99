"""Writes the replies to `state_trajectory/*`: where the person stands at first, and what changes in a period."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import read_value
from pipelines.embedded.task import PromptTask

SCALE_CONCEPTS = frozenset({"monthly_spare_money", "daily_free_time"})  # concepts whose values form a scale
MIDDLE_START_RATE = 0.3
MAX_TRIES = 20  # values that are tried where two exclude each other
NUM_DRAFTS = 20  # further selections of variables to compare, where the number of changed answers matters
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
    """One value per variable; on a scale the middle one somewhat more often."""
    rng = task.rng("initial")
    schema: dict[str, list[str]] = task.data("state_schema")
    state = {name: _initial_value(name, values, rng) for name, values in schema.items()}
    return _without_exclusive(state, schema, task, rng=rng)


def _without_exclusive(
    new: dict[str, str],
    choices: Mapping[str, list[str]],
    task: PromptTask,
    *,
    rng: SeededRandom,
    state: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The new values with others in place of those that would exclude a value of the `state`, or each other."""
    pairs: list[dict[str, str]] = task.data("exclusive") if "exclusive" in task.blocks else []
    before, chosen = dict(state or {}), dict(new)
    for _ in range(MAX_TRIES):
        pair = next((one for one in pairs if one.items() <= {**before, **chosen}.items()), None)
        if pair is None:
            break
        name = rng.choice([name for name in pair if name in chosen])
        left = [value for value in choices[name] if value not in (chosen[name], before.get(name))]
        chosen[name] = rng.choice(left or choices[name])
    return chosen


def _initial_value(name: str, values: list[str], rng: SeededRandom) -> str:
    middle = values[len(values) // 2]
    return middle if name in SCALE_CONCEPTS and rng.bernoulli(MIDDLE_START_RATE) else rng.choice(values)


def update(task: PromptTask) -> dict[str, Any]:
    """Change about as many variables as asked, those that changed least before the others."""
    rng = task.rng("update")
    state: dict[str, dict[str, Any]] = task.data("state")
    choices: dict[str, list[str]] = {name: own["may_become"] for name, own in state.items() if "may_become" in own}
    names = _choose_changes(task, choices, rng)
    new = {name: _next_value(name, state[name], task) for name in names}
    now = {name: str(own["now"]) for name, own in state.items()}
    new = _without_exclusive(new, choices, task, rng=task.rng("exclusive"), state=now)
    return {"period_summary": summary(names, rng=rng), "updated": new}


def _choose_changes(task: PromptTask, choices: Mapping[str, list[str]], rng: SeededRandom) -> list[str]:
    wanted = task.number(r"about (\d+) variables change", default=4)
    if not task.objection and wanted > 3:
        wanted += rng.choice((-1, 0, 0, 0, 0, 1))
    counts = _change_counts(task)
    drafts = [_rank_variables(task, choices, rng)]
    if "questions" in task.blocks:
        drafts.extend(rng.shuffled(drafts[0]) for _ in range(NUM_DRAFTS))
    # After an objection: what it proposes, else the least changed variables, because they leave most room for later.
    if task.objection:
        proposal = task.objection.partition("for instance")[2]
        return [name for name in re.findall(r"'([^']+)'", proposal) if name in choices] or drafts[0][:wanted]
    selections = [_with_companions(draft, counts, wanted=wanted, rng=rng) for draft in drafts]
    return min(selections, key=lambda names: _question_count_error(task, names))


def _change_counts(task: PromptTask) -> dict[str, int]:
    return {name: int(own.get("changes", 0)) for name, own in task.data("state").items()}


def _rank_variables(task: PromptTask, choices: Mapping[str, list[str]], rng: SeededRandom) -> list[str]:
    """Variables that may change: as many as are due to change for the first time, then those that changed least."""
    counts = _change_counts(task)
    ranked = sorted(rng.shuffled(list(choices)), key=lambda name: counts.get(name, 0))
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
