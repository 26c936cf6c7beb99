"""The exposure gate: a query is accepted when judges read its values back out of it, and no others (section 3.1, App. C.3)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import BaseModel

from assets.amemgym.session_queries.drafts import QueryDraft, UserContext
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, ReadingTask
from assets.llm.structured_output import (
    ReplySchema,
    ask_structured,
    integer_between,
    list_of,
    object_of,
    object_of_enums,
)
from assets.recipe.policies import GatePolicy
from assets.records.base import Text
from prompts.catalogue import load_prompt

Choices = dict[str, list[str]]  # by variable
# A judge says of each query what it tells of any variable, is not told of which period it is, and has nothing to share out:
# a few of one period exclude next to nothing.
QUERIES_OF_ONE_PERIOD = 4  # in a call
QUERIES_FOR_A_TEXT = 3  # so short are they, beside answers and their situations


class QueryReply(BaseModel):
    """The paper's key, for a refined query."""

    query: Text


Redraft = Callable[[QueryDraft, int], Awaitable[str]]


def exposure_gate(user: UserContext, draft: QueryDraft, redraft: Redraft) -> Gate[Choices]:
    """The gate of one drafted query; `redraft` writes a new one, by number.

    In the same breath as for the values to be exposed, judges are asked for all other variables, which must stay open.
    """
    choices = user.schema.choices
    asked = choices if user.recipe.gates.unexposed else {name: choices[name] for name in draft.exposed}

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        prompt = load_prompt("session_queries/refine").render(
            query=text,
            exposed_states=draft.exposed,
            state_choices={name: choices[name] for name in draft.exposed},
            reading={name: reading.get(name, "could not tell") for name in draft.exposed},
            leaked={name: value for name, value in reading.items() if name not in draft.exposed},
            other_states=draft.other_states,
            language=user.recipe.language_name,
        )
        style = user.style_check(strict=True)

        def convert(reply: QueryReply) -> str:
            style.check([user.in_context(reply.query, draft.exposed)])
            return reply.query

        return await ask_structured(
            user.model, prompt=prompt, reply=QueryReply, convert=convert, sample=sample, recipe=user.recipe
        )

    return Gate("exposure", draft.exposed, asked, refine, lambda number: redraft(draft, number))


def queries_per_call(gates: GatePolicy) -> int:
    """How many queries share a call.

    Without probes a judge is asked for a query's own variables, and so for one query.
    """
    return QUERIES_FOR_A_TEXT * gates.texts_per_call if gates.unexposed and gates.texts_per_call > 1 else 1


async def read_exposure(user: UserContext, tasks: Sequence[ReadingTask[Choices]]) -> list[dict[str, str]]:
    """What a judge reads out of the texts, in one call. The variables asked for are the first text's, and the same for all.

    Variables and choices are shuffled; a reading has the variables alone that the judge found settled.
    """
    first, number = tasks[0], max(task.vote.number for task in tasks)
    rng = SeededRandom(user.recipe.seed, user.profile.user_id, "exposure", first.item_id, number)
    options = {name: rng.shuffled(first.subject[name]) for name in rng.shuffled(list(first.subject))}
    optional = user.recipe.gates.cannot_tell
    prompt = load_prompt("session_queries/check_exposure").render(
        messages={str(place): task.text for place, task in enumerate(tasks, start=1)},
        state_choices=options,
        cannot_tell=optional,
    )

    def convert(reply: dict[str, list[dict[str, Any]]]) -> list[dict[str, str]]:
        if [one["id"] for one in reply["readings"]] != list(range(1, len(tasks) + 1)):
            raise ValueError(f"Give one entry for each of the messages 1 to {len(tasks)}, in this order.")
        return [{name: one["tells"][name] for name in first.subject if name in one["tells"]} for one in reply["readings"]]

    reading = object_of({"id": integer_between(1, len(tasks)), "tells": object_of_enums(options, required=not optional)})
    reply_schema: ReplySchema[dict[str, list[dict[str, Any]]]] = ReplySchema(
        object_of({"readings": list_of(reading, min_items=len(tasks), max_items=len(tasks))})
    )
    return await ask_structured(
        user.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=number,
        model_name=first.vote.judge,
        recipe=user.recipe,
    )
