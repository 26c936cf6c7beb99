"""Reading a user's story: the judge of the gate that summaries and events pass.

A judge reads a text in the story that it belongs to, and is not shown what it should tell. A text passes when it tells its
own values, nothing against the state, and nothing that profile or earlier texts rule out. A summary has to tell of its own
period's changes: the judge gets those of all periods, in an order of the vote's own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import zip_longest
from typing import Any

from assets.amemgym.numbered_choices import NumberedChoices
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema, TrajectoryPeriod
from assets.amemgym.state_trajectory.days import with_weekday
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import GateAttempt, ReadingTask
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    TEXT,
    ReplySchema,
    ask_structured,
    integer_between,
    list_of,
    numbered,
    object_of,
    object_of_alike,
)
from assets.recipe.amemgym import AMemGymRecipe
from prompts.catalogue import load_prompt

CONTRADICTION = "contradiction"  # the key of a reading that says what a text contradicts
SUBJECT = "subject"  # the key of a reading that says what a text is not about


@dataclass(frozen=True)
class StoryReader:
    """The parts of one user that every call about the user's story needs."""

    profile: UserProfile
    schema: StateSchema
    recipe: AMemGymRecipe
    model: LanguageModel


@dataclass(frozen=True)
class StoryText:
    """A text by its position in the story, whose texts are as they stand when they are read.

    `days`: the day of each text, as far as days are known; the story is in their order. `may_tell`: values that it may tell and
    need not. `changes`: by position, the new values of the period that each text has to tell of; empty where no text is read
    for that.
    """

    story: Sequence[GateAttempt]
    position: int
    days: Sequence[date | None] = ()
    may_tell: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: Sequence[Mapping[str, str]] = ()


def summary_story(periods: Iterable[TrajectoryPeriod]) -> list[GateAttempt]:
    """Return the summaries of these periods as texts that judges read."""
    return [GateAttempt(f"t{period.index:02d}", period.summary or "") for period in periods]


def changes_of(periods: Iterable[TrajectoryPeriod]) -> list[dict[str, str]]:
    """Return the new values of these periods, in the order of their summaries."""
    return [period.values_of(period.changed) for period in periods]


def texts_per_call(recipe: AMemGymRecipe) -> int:
    """Return how many texts of a story share a call: those of as many periods as a judge reads texts elsewhere."""
    # A period has an update, and so an event, more than wanted at most.
    return recipe.gates.texts_per_call * (recipe.num_changes_per_period + 1)


async def read_story(reader: StoryReader, tasks: Sequence[ReadingTask[StoryText]]) -> list[dict[str, str]]:
    """Return what a judge reads out of the texts, in one call that shows the story up to the last of them.

    A reading has the values that a text tells and what it contradicts, without the values that it may tell.
    """
    # In the story's order, because the last text decides how much of the story is shown.
    due = sorted(tasks, key=lambda task: task.subject.position)
    first = due[0]
    last = due[-1].subject.position
    number = max(task.vote.number for task in due)
    texts = [attempt.text for attempt in first.subject.story[: last + 1]]
    positions: list[int] = []  # from 1, as prompt and reply count the texts
    for task in due:
        # The task's text, not the story's: a labelled probe is read in place of what stands there.
        texts[task.subject.position] = task.text
        positions.append(task.subject.position + 1)
    user_id = reader.profile.user_id
    seed = reader.recipe.world_seed
    options = NumberedChoices.shuffled(reader.schema.choices, seed=seed, user_id=user_id, vote=first.vote.vote)
    rng = SeededRandom(seed, user_id, "story", first.item_id, number)
    changes = first.subject.changes
    order = rng.shuffled(range(len(changes)))
    prompt = load_prompt("state_trajectory/check").render(
        user_profile=reader.profile.in_prompt,
        state_choices=options.in_prompt(),
        texts=numbered(_with_days(texts, first.subject.days)),
        judged=positions,
        periods=numbered(options.numbers_of(changes[position]) for position in order),
        reworded=first.vote.reworded,
    )

    def convert(reply: dict[str, dict[str, Any]]) -> dict[int, dict[str, str]]:
        readings: dict[int, dict[str, str]] = {}
        for position in positions:
            readings[position] = options.values_of(reply["readings"][str(position)], told_by=f"Text {position}")
        for key, why in reply["contradictions"].items():
            readings[int(key)][CONTRADICTION] = str(why)
        for key, told in reply.get("periods", {}).items():
            own = int(key) - 1
            if changes[own] and order.index(own) + 1 not in told:
                readings[int(key)][SUBJECT] = "none of the changes of its period"
        return readings

    readings = await ask_structured(
        reader.model,
        prompt=prompt,
        reply=_reply_schema(options, positions, periods=len(order)),
        convert=convert,
        sample=number,
        model_name=first.vote.judge,
        settings=reader.recipe.asking,
    )
    results: list[dict[str, str]] = []
    for task in tasks:
        known = task.subject.may_tell
        reading = readings[task.subject.position + 1]
        results.append({name: value for name, value in reading.items() if known.get(name) != value})
    return results


def _with_days(texts: Sequence[str], days: Sequence[date | None]) -> Iterator[str]:
    for text, day in zip_longest(texts, days[: len(texts)]):
        yield text if day is None else f"{with_weekday(day)}: {text}"


def _reply_schema(
    options: NumberedChoices, positions: Sequence[int], *, periods: int
) -> ReplySchema[dict[str, dict[str, Any]]]:
    keys = list(map(str, positions))
    parts = {
        "readings": object_of_alike(keys, options.numbers),
        "contradictions": object_of_alike(keys, TEXT, required=False),
    }
    if periods:
        parts["periods"] = object_of_alike(keys, list_of(integer_between(1, periods), min_items=0))
    return ReplySchema(object_of(parts))
