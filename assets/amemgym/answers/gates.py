"""The gates of an answer: a judge recovers its variant from it, and chooses it for its variant (section 3.1, App. C.3)."""

from collections.abc import Sequence

from pydantic import BaseModel

from assets.amemgym.answers.variants import QuestionVariants, Variant
from assets.llm.gate import Gate, VoteContext
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, integer_between, object_of
from assets.records.base import Text, duplicates
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt


class AnswerReply(BaseModel):
    """The paper's key, for a refined answer."""

    answer: Text


def recovery_gate(asked: QuestionVariants, variant: Variant) -> Gate:
    """From the answer to its variant."""
    item_id = asked.item_id(variant)

    async def judge(text: str, vote: VoteContext) -> dict[str, str]:
        return await recover_variant(asked, text, item_id=item_id, vote=vote)

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        return await _refine(asked, variant, text, reading=reading or "could not tell", sample=sample)

    return Gate("recovery", variant.assignment, judge, refine, lambda draft: _redraft(asked, variant, draft))


def choice_gate(asked: QuestionVariants, variant: Variant, answers: Sequence[str]) -> Gate:
    """From the variant to its answer. `answers`: those of all variants, in their order, as they are now."""
    item_id = asked.item_id(variant)
    answer_for = {other.values: answer for other, answer in zip(asked.variants, answers, strict=True)}

    async def judge(_: str, vote: VoteContext) -> dict[str, str]:
        return await choose_answer(asked, variant, answers, item_id=item_id, vote=vote)

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        chosen = answer_for.get(tuple(reading.values()), "none")
        return await _refine(asked, variant, text, chosen=chosen, sample=sample)

    return Gate("choice", variant.assignment, judge, refine, lambda draft: _redraft(asked, variant, draft))


async def recover_variant(asked: QuestionVariants, answer: str, *, item_id: str, vote: VoteContext) -> dict[str, str]:
    """The variant a judge takes the answer to be for, {} where it cannot tell; variants shuffled per vote."""
    order = asked.shuffled("recovery", item_id=item_id, vote=vote)
    prompt = load_prompt("answers/check").render(
        question=asked.question.text,
        answer=answer,
        choices={str(number): variant.assignment for number, variant in enumerate(order, start=1)},
        cannot_tell=asked.recipe.gates.cannot_tell,
    )
    return await _choose(asked, prompt, order, vote=vote)


async def choose_answer(
    asked: QuestionVariants, variant: Variant, answers: Sequence[str], *, item_id: str, vote: VoteContext
) -> dict[str, str]:
    """The variant whose answer a judge chooses who knows that `variant` is the case, {} where none stands out."""
    order = asked.shuffled("choice", item_id=item_id, vote=vote)
    answer_for = {other.values: answer for other, answer in zip(asked.variants, answers, strict=True)}
    prompt = load_prompt("answers/choose").render(
        question=asked.question.text,
        situation=variant.assignment,
        choices={str(number): answer_for[other.values] for number, other in enumerate(order, start=1)},
        cannot_tell=asked.recipe.gates.cannot_tell,
    )
    return await _choose(asked, prompt, order, vote=vote)


async def _choose(
    asked: QuestionVariants, prompt: RenderedPrompt, order: Sequence[Variant], *, vote: VoteContext
) -> dict[str, str]:
    reply_schema = choice_schema(0 if asked.recipe.gates.cannot_tell else 1, len(order))

    def convert(reply: dict[str, int]) -> dict[str, str]:
        return order[reply["choice"] - 1].assignment if reply["choice"] else {}

    return await ask_structured(
        asked.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=vote.number,
        model_name=vote.judge,
        recipe=asked.recipe,
    )


def choice_schema(lowest: int, highest: int) -> ReplySchema[dict[str, int]]:
    """The number of what is chosen."""
    return ReplySchema(object_of({"choice": integer_between(lowest, highest)}))


async def _refine(
    asked: QuestionVariants, variant: Variant, text: str, *, sample: int, reading: dict[str, str] | str = "", chosen: str = ""
) -> str:
    prompt = load_prompt("answers/refine").render(
        question=asked.question.text,
        matched_state=variant.assignment,
        other_states=[other.assignment for other in asked.variants if other != variant],
        answer=text,
        reading=reading,
        chosen=chosen,
        language=asked.recipe.language_name,
    )
    return await ask_structured(
        asked.model, prompt=prompt, reply=AnswerReply, convert=lambda reply: reply.answer, sample=sample, recipe=asked.recipe
    )


async def _redraft(asked: QuestionVariants, variant: Variant, draft: int) -> str:
    return (await draft_answers(asked, [variant], sample=draft))[0]


async def draft_answers(asked: QuestionVariants, variants: Sequence[Variant], *, sample: int) -> list[str]:
    """One answer for each of the variants, in their order."""
    keys = [f"variant_{index + 1}" for index in range(len(variants))]
    prompt = load_prompt("answers/draft").render(
        question=asked.question.text,
        required_info={name: asked.schema.choices[name] for name in asked.question.required_info},
        variants={key: variant.assignment for key, variant in zip(keys, variants, strict=True)},
        language=asked.recipe.language_name,
    )

    retries_left = asked.recipe.gates.max_reasks

    def convert(reply: dict[str, str]) -> list[str]:
        nonlocal retries_left
        answers = [reply[key] for key in keys]
        # Answers that stay equal go on to the gates, where each is rewritten by itself.
        if (repeated := repeated_answers(answers)) and retries_left > 0:
            retries_left -= 1
            raise ValueError(f"Every variant needs an answer of its own; these are repeated: {repeated}.")
        return answers

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(keys, TEXT)))
    return await ask_structured(
        asked.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, recipe=asked.recipe
    )


def repeated_answers(answers: Sequence[str]) -> list[str]:
    """Answers that are the same but for case and spacing."""
    return duplicates([" ".join(answer.casefold().split()) for answer in answers])
