"""The exposure gate: a query is accepted when judges read its values back out of it, and no others (section 3.1, App. C.3)."""

from collections.abc import Awaitable, Callable, Collection, Mapping

from pydantic import BaseModel

from assets.amemgym.session_queries.drafts import QueryDraft, UserContext
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, VoteContext
from assets.llm.structured_output import ReplySchema, ask_structured, object_of_enums
from assets.records.base import Text
from prompts.catalogue import load_prompt

CANNOT_TELL = "cannot_tell"


class QueryReply(BaseModel):
    """The paper's key, for a refined query."""

    query: Text


Redraft = Callable[[QueryDraft, int], Awaitable[str]]


def exposure_gate(user: UserContext, draft: QueryDraft, redraft: Redraft) -> Gate:
    """The gate of one drafted query; `redraft` writes a new one, by number.

    Beside the values to be exposed, a judge is asked in the same breath for some other variables, which must stay open.
    """
    choices = user.schema.choices
    others = unexposed_variables(user, draft)
    asked = {name: choices[name] for name in (*draft.exposed, *others)}

    async def judge(text: str, vote: VoteContext) -> dict[str, str]:
        return await read_exposure(user, text, asked, item_id=draft.item_id, vote=vote)

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        leaked = {name: reading[name] for name in others if reading[name]}
        prompt = load_prompt("session_queries/refine").render(
            query=text,
            exposed_states=draft.exposed,
            state_choices={name: choices[name] for name in draft.exposed},
            reading={name: reading[name] or "could not tell" for name in draft.exposed},
            leaked=leaked,
            language=user.recipe.language_name,
        )
        style = user.style_check()

        def convert(reply: QueryReply) -> str:
            style.check([reply.query])
            return reply.query

        return await ask_structured(
            user.model, prompt=prompt, reply=QueryReply, convert=convert, sample=sample, recipe=user.recipe
        )

    target = {**draft.exposed, **dict.fromkeys(others, "")}
    return Gate("exposure", target, judge, refine, lambda number: redraft(draft, number))


def unexposed_variables(user: UserContext, draft: QueryDraft) -> list[str]:
    """Seeded variables of the schema that the query is probed for and must not reveal, as many as the recipe says."""
    others = [name for name in user.schema.choices if name not in draft.exposed]
    rng = SeededRandom(user.recipe.seed, user.profile.user_id, "unexposed", draft.item_id)
    return rng.sample(others, user.recipe.gates.unexposed)


async def read_exposure(
    user: UserContext, text: str, choices: Mapping[str, list[str]], *, item_id: str, vote: VoteContext
) -> dict[str, str]:
    """What a judge reads out of the text for these variables, "" where it cannot tell; variables and options shuffled."""
    rng = SeededRandom(user.recipe.seed, user.profile.user_id, "exposure", item_id, vote.number)
    label = _label_other_than([choice for values in choices.values() for choice in values])
    extra = [label] if user.recipe.gates.cannot_tell else []
    options = {name: [*rng.shuffled(choices[name]), *extra] for name in rng.shuffled(list(choices))}
    prompt = load_prompt("session_queries/check_exposure").render(
        query=text, state_choices=options, cannot_tell=label if extra else ""
    )

    def convert(reply: dict[str, str]) -> dict[str, str]:
        return {name: "" if reply[name] in extra else reply[name] for name in choices}

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(options))
    return await ask_structured(
        user.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=vote.number,
        model_name=vote.judge,
        recipe=user.recipe,
    )


def _label_other_than(choices: Collection[str]) -> str:
    """The answer "cannot tell" in words that are no choice themselves."""
    label = CANNOT_TELL
    while label in choices:
        label += "_"
    return label
