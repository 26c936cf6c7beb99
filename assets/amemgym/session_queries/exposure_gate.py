"""The exposure gate: a query is accepted when judges read its values back out of it, and no others (section 3.1, App. C.3)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from assets.amemgym.numbered_choices import NumberedChoices
from assets.amemgym.records.state import select_values, without
from assets.amemgym.rewriting import rewrite_text
from assets.amemgym.session_queries.drafts import QueryDraft, UserContext
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, ReadingTask
from assets.llm.structured_output import (
    ReplySchema,
    ask_structured,
    integer_between,
    list_of,
    numbered,
    object_of,
    object_of_alike,
    object_of_enums,
)
from assets.recipe.policies import GatePolicy
from prompts.catalogue import load_prompt

Choices = dict[str, list[str]]  # by variable
# A judge reads several queries in one call, and is not told their period. So it cannot work out one query's values by
# excluding those of the others: four queries of one period exclude next to nothing.
QUERIES_OF_ONE_PERIOD = 4  # in a call
QUERIES_FOR_A_TEXT = 3  # so short are they, beside answers and their situations


Redraft = Callable[[QueryDraft, int], Awaitable[str]]


def exposure_gate(user: UserContext, draft: QueryDraft, redraft: Redraft) -> Gate[Choices]:
    """Return the gate of one drafted query; `redraft` writes a new one, by number.

    In the same call judges are asked for the values to be exposed and for all other variables, which must stay open.
    """
    own_choices = select_values(user.schema.choices, draft.exposed)
    asked = user.schema.choices if user.recipe.gates.unexposed else own_choices

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        prompt = load_prompt("session_queries/refine").render(
            query=text,
            exposed_states=draft.exposed,
            state_choices=own_choices,
            reading={name: reading.get(name, "could not tell") for name in draft.exposed},
            # What was read besides the query's own values: the writer has to take it out.
            leaked=without(reading, draft.exposed),
            other_states=draft.other_states,
            language=user.recipe.language_name,
        )
        in_context = partial(user.in_context, exposed=draft.exposed, day=draft.day)
        return await rewrite_text(
            prompt, "query", in_context, noun="Query", sample=sample, recipe=user.recipe, model=user.model
        )

    return Gate("exposure", draft.exposed, asked, refine, lambda number: redraft(draft, number))


def queries_per_call(gates: GatePolicy) -> int:
    """Return how many queries share a call.

    Without probes a judge is asked for a query's own variables, and so for one query.
    """
    if not gates.unexposed or gates.texts_per_call == 1:
        return 1
    return QUERIES_FOR_A_TEXT * gates.texts_per_call


async def read_exposure(user: UserContext, tasks: Sequence[ReadingTask[Choices]]) -> list[dict[str, str]]:
    """Return what a judge reads out of the texts, in one call, which asks for the variables of the first text.

    Variables and choices are shuffled; a reading has the variables alone that the judge found settled.
    """
    if user.recipe.gates.unexposed:
        return await _probe(user, tasks)
    (task,) = tasks
    return [await _read_by_name(user, task)]


async def _probe(user: UserContext, tasks: Sequence[ReadingTask[Choices]]) -> list[dict[str, str]]:
    """Ask for the numbers of all choices that the texts tell; what they only hint at is asked for, too, and does not count."""
    first = tasks[0]
    # The text that was rewritten most numbers the call, so that no earlier reply is found in the cache.
    number = max(task.vote.number for task in tasks)
    options = NumberedChoices.shuffled(
        first.subject, seed=user.recipe.world_seed, user_id=user.profile.user_id, vote=first.vote.vote
    )
    messages = numbered(task.text for task in tasks)
    prompt = load_prompt("session_queries/probe").render(
        messages=messages, state_choices=options.in_prompt(), reworded=first.vote.reworded
    )

    def convert(reply: dict[str, dict[str, list[int]]]) -> list[dict[str, str]]:
        readings: list[dict[str, str]] = []
        for key in messages:
            readings.append(_in_order(options.values_of(reply[key]["told"], told_by=f"Message {key}"), first.subject))
        return readings

    of_message = object_of({"told": options.numbers, "hinted": options.numbers})
    reply_schema: ReplySchema[dict[str, dict[str, list[int]]]] = ReplySchema(object_of_alike(messages, of_message))
    return await ask_structured(
        user.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=number,
        model_name=first.vote.judge,  # all texts of a call have the same judge
        settings=user.recipe.asking,
    )


async def _read_by_name(user: UserContext, task: ReadingTask[Choices]) -> dict[str, str]:
    """Ask which of the choices asked for the text tells, by their names."""
    rng = SeededRandom(user.recipe.world_seed, user.profile.user_id, "exposure", task.item_id, task.vote.number)
    options = rng.shuffled_lists(task.subject)
    optional = user.recipe.gates.cannot_tell
    prompt = load_prompt("session_queries/check_exposure").render(
        messages=numbered([task.text]), state_choices=options, cannot_tell=optional, reworded=task.vote.reworded
    )

    def convert(reply: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
        return _in_order(reply["readings"][0]["tells"], task.subject)

    reading = object_of({"id": integer_between(1, 1), "tells": object_of_enums(options, required=not optional)})
    reply_schema: ReplySchema[dict[str, list[dict[str, Any]]]] = ReplySchema(
        object_of({"readings": list_of(reading, min_items=1, max_items=1)})
    )
    return await ask_structured(
        user.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=task.vote.number,
        model_name=task.vote.judge,
        settings=user.recipe.asking,
    )


def _in_order(told: Mapping[str, str], choices: Choices) -> dict[str, str]:
    """Return the values in the schema's order, whatever the reply's: records of equal readings are equal bytes."""
    return {name: told[name] for name in choices if name in told}
