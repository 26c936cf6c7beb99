"""What texts on a user's life tell: the gate that summaries and events pass, and its judge.

A judge reads a text in the story that it belongs to, and is not shown what it should tell. A text passes when it tells its
own values, nothing against the state, and nothing that profile or earlier texts rule out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import GateAttempt, ReadingTask
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    TEXT,
    ReplySchema,
    ask_structured,
    integer_between,
    list_of,
    object_of,
)
from assets.records.base import duplicates
from prompts.catalogue import load_prompt

CONTRADICTION = "contradiction"  # the key of a reading that says what a text contradicts


@dataclass(frozen=True)
class StoryReader:
    """What every call about one user's story needs."""

    profile: UserProfile
    schema: StateSchema
    recipe: AMemGymRecipe
    model: LanguageModel


@dataclass(frozen=True)
class StoryText:
    """A text by its place in the story, whose texts are as they stand when they are read.

    `may_tell`: values that it may tell and need not.
    """

    story: Sequence[GateAttempt]
    place: int
    may_tell: Mapping[str, str] = field(default_factory=dict[str, str])


def texts_per_call(recipe: AMemGymRecipe) -> int:
    """How many texts of a story share a call: those of as many periods as a judge reads texts elsewhere."""
    # A period has an update, and so an event, more than wanted at most.
    return recipe.gates.texts_per_call * (recipe.num_changes_per_period + 1)


async def read_story(reader: StoryReader, tasks: Sequence[ReadingTask[StoryText]]) -> list[dict[str, str]]:
    """What a judge reads out of the texts, in one call that shows the story up to the last of them.

    A reading has the values that a text tells and what it contradicts, without the values that it may tell.
    """
    due = sorted(tasks, key=lambda task: task.subject.place)
    first, number = due[0], max(task.vote.number for task in due)
    rng = SeededRandom(reader.recipe.seed, reader.profile.user_id, "story", first.item_id, number)
    choices = reader.schema.choices
    told = [(name, choice) for name in rng.shuffled(list(choices)) for choice in rng.shuffled(choices[name])]
    texts = [attempt.text for attempt in first.subject.story[: due[-1].subject.place + 1]]
    for task in due:
        texts[task.subject.place] = task.text
    places = [task.subject.place + 1 for task in due]
    prompt = load_prompt("state_trajectory/check").render(
        user_profile=reader.profile.formatted_str,
        state_choices=_with_numbers(told),
        texts={str(number): text for number, text in enumerate(texts, start=1)},
        judged=places,
    )

    def convert(reply: dict[str, dict[str, Any]]) -> dict[int, dict[str, str]]:
        found: dict[int, list[tuple[str, str]]] = {}
        for place in places:
            numbers: list[int] = reply["readings"][str(place)]
            found[place] = [told[one - 1] for one in dict.fromkeys(numbers)]
            if twice := duplicates([name for name, _ in found[place]]):
                raise ValueError(f"Text {place} tells one choice of {twice[0]!r} at most; leave out what it does not settle.")
        because = {int(place): {CONTRADICTION: str(why)} for place, why in reply["contradictions"].items()}
        return {place: {**dict(pairs), **because.get(place, {})} for place, pairs in found.items()}

    readings = await ask_structured(
        reader.model,
        prompt=prompt,
        reply=_reply_schema(len(told), places),
        convert=convert,
        sample=number,
        model_name=first.vote.judge,
        recipe=reader.recipe,
    )
    return [_without(readings[task.subject.place + 1], task.subject.may_tell) for task in tasks]


def _with_numbers(told: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The variables, each with its choices behind their numbers in this order, from 1: a reply in numbers takes few tokens."""
    shown: dict[str, list[str]] = {}
    for number, (name, choice) in enumerate(told, start=1):
        shown.setdefault(name, []).append(f"{number} {choice}")
    return shown


def _without(reading: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in reading.items() if known.get(name) != value}


def _reply_schema(choices: int, places: Sequence[int]) -> ReplySchema[dict[str, dict[str, Any]]]:
    numbers = list_of(integer_between(1, choices), min_items=0)
    readings = object_of({str(place): numbers for place in places})
    contradictions = object_of({str(place): TEXT for place in places}, required=False)
    return ReplySchema(object_of({"readings": readings, "contradictions": contradictions}))
