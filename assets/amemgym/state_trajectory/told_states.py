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
    object_of_enums,
)
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
    options = {name: rng.shuffled(choices[name]) for name in rng.shuffled(list(choices))}
    texts = [attempt.text for attempt in first.subject.story[: due[-1].subject.place + 1]]
    for task in due:
        texts[task.subject.place] = task.text
    places = [task.subject.place + 1 for task in due]
    prompt = load_prompt("state_trajectory/check").render(
        user_profile=reader.profile.formatted_str,
        state_choices=options,
        texts={str(number): text for number, text in enumerate(texts, start=1)},
        judged=places,
    )

    def convert(reply: dict[str, list[dict[str, Any]]]) -> dict[int, dict[str, str]]:
        if [one["id"] for one in reply["readings"]] != places:
            raise ValueError(f"Give one reading for each of the texts {places}, in this order.")
        because = {one["id"]: {CONTRADICTION: str(one["because"])} for one in reply["contradictions"]}
        return {one["id"]: {**one["tells"], **because.get(one["id"], {})} for one in reply["readings"]}

    readings = await ask_structured(
        reader.model,
        prompt=prompt,
        reply=_reply_schema(options, places),
        convert=convert,
        sample=number,
        model_name=first.vote.judge,
        recipe=reader.recipe,
    )
    return [_without(readings[task.subject.place + 1], task.subject.may_tell) for task in tasks]


def _without(reading: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in reading.items() if known.get(name) != value}


def _reply_schema(options: Mapping[str, Sequence[str]], places: Sequence[int]) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    number = integer_between(1, places[-1])
    reading = object_of({"id": number, "tells": object_of_enums(options, required=False)})
    contradiction = object_of({"id": number, "because": TEXT})
    return ReplySchema(
        object_of(
            {
                "readings": list_of(reading, min_items=len(places), max_items=len(places)),
                "contradictions": list_of(contradiction, min_items=0, max_items=len(places)),
            }
        )
    )
