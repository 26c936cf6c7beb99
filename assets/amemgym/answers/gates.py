"""The gates of an answer: a judge recovers its variant from it, and chooses it for its variant (section 3.1, App. C.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.amemgym.answers.variants import Variant
from assets.amemgym.records.schema import SchemaQuestion, StateSchema
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, Trial
from assets.llm.ports import LanguageModel
from assets.llm.reply_schema import TEXT, ReplySchema, integer_between, object_of
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from assets.records.base import Text, duplicates
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt


class AnswerReply(BaseModel):
    """The paper's key, for a refined answer."""

    answer: Text


@dataclass(frozen=True)
class Sheet:
    """One question with the variants to answer for, and what its calls need."""

    question: SchemaQuestion
    schema: StateSchema
    variants: list[Variant]
    recipe: Recipe
    model: LanguageModel

    def item_id(self, variant: Variant) -> str:
        """The name of a variant's answer in the gate records."""
        return f"{self.question.question_id}-v{self.variants.index(variant) + 1}"

    def shuffled(self, gate: str, *, trial: tuple[str, Trial]) -> list[Variant]:
        """The variants in the order in which this trial shows them or their answers."""
        item_id, number = trial
        rng = SeededRandom(self.recipe.seed, self.schema.user_id, gate, item_id, number.number)
        return rng.shuffled(self.variants)


def recovery_gate(sheet: Sheet, variant: Variant) -> Gate:
    """From the answer to its variant."""
    item_id = sheet.item_id(variant)

    async def judge(text: str, trial: Trial) -> dict[str, str]:
        return await recover_variant(sheet, text, trial=(item_id, trial))

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        return await _refine(sheet, variant, text, reading=reading or "could not tell", sample=sample)

    return Gate("recovery", variant.assignment, judge, refine, lambda draft: _redraft(sheet, variant, draft))


def choice_gate(sheet: Sheet, variant: Variant, answers: Sequence[str]) -> Gate:
    """From the variant to its answer. `answers`: those of all variants, in their order, as they are now."""
    item_id = sheet.item_id(variant)
    answer_for = {other.values: answer for other, answer in zip(sheet.variants, answers, strict=True)}

    async def judge(_: str, trial: Trial) -> dict[str, str]:
        return await choose_answer(sheet, variant, answers, trial=(item_id, trial))

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        chosen = answer_for.get(tuple(reading.values()), "none")
        return await _refine(sheet, variant, text, chosen=chosen, sample=sample)

    return Gate("choice", variant.assignment, judge, refine, lambda draft: _redraft(sheet, variant, draft))


async def recover_variant(sheet: Sheet, answer: str, *, trial: tuple[str, Trial]) -> dict[str, str]:
    """The variant a judge takes the answer to be for, {} where it cannot tell; variants shuffled per trial."""
    order = sheet.shuffled("recovery", trial=trial)
    prompt = load_prompt("answers/check").render(
        question=sheet.question.text,
        answer=answer,
        choices={str(place): variant.assignment for place, variant in enumerate(order, start=1)},
        cannot_tell=sheet.recipe.gates.cannot_tell,
    )
    return await _choose(sheet, prompt, order, trial=trial[1])


async def choose_answer(sheet: Sheet, variant: Variant, answers: Sequence[str], *, trial: tuple[str, Trial]) -> dict[str, str]:
    """The variant whose answer a judge chooses who knows that `variant` is the case, {} where none stands out."""
    order = sheet.shuffled("choice", trial=trial)
    answer_for = {other.values: answer for other, answer in zip(sheet.variants, answers, strict=True)}
    prompt = load_prompt("answers/choose").render(
        question=sheet.question.text,
        situation=variant.assignment,
        choices={str(place): answer_for[other.values] for place, other in enumerate(order, start=1)},
        cannot_tell=sheet.recipe.gates.cannot_tell,
    )
    return await _choose(sheet, prompt, order, trial=trial[1])


async def _choose(sheet: Sheet, prompt: RenderedPrompt, order: Sequence[Variant], *, trial: Trial) -> dict[str, str]:
    reply_schema = choice_schema(0 if sheet.recipe.gates.cannot_tell else 1, len(order))

    def convert(reply: dict[str, int]) -> dict[str, str]:
        return order[reply["choice"] - 1].assignment if reply["choice"] else {}

    return await ask_structured(
        sheet.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=trial.number,
        model_name=trial.judge,
        recipe=sheet.recipe,
    )


def choice_schema(lowest: int, highest: int) -> ReplySchema[dict[str, int]]:
    """The number of what is chosen."""
    return ReplySchema(object_of({"choice": integer_between(lowest, highest)}))


async def _refine(
    sheet: Sheet, variant: Variant, text: str, *, sample: int, reading: dict[str, str] | str = "", chosen: str = ""
) -> str:
    prompt = load_prompt("answers/refine").render(
        question=sheet.question.text,
        matched_state=variant.assignment,
        other_states=[other.assignment for other in sheet.variants if other != variant],
        answer=text,
        reading=reading,
        chosen=chosen,
        language=sheet.recipe.language_name,
    )
    return await ask_structured(
        sheet.model, prompt=prompt, reply=AnswerReply, convert=lambda reply: reply.answer, sample=sample, recipe=sheet.recipe
    )


async def _redraft(sheet: Sheet, variant: Variant, draft: int) -> str:
    return (await draft_answers(sheet, [variant], sample=draft))[0]


async def draft_answers(sheet: Sheet, variants: Sequence[Variant], *, sample: int) -> list[str]:
    """One answer for each of the variants, in their order."""
    keys = [f"variant_{index + 1}" for index in range(len(variants))]
    prompt = load_prompt("answers/draft").render(
        question=sheet.question.text,
        required_info={name: sheet.schema.choices[name] for name in sheet.question.required_info},
        variants={key: variant.assignment for key, variant in zip(keys, variants, strict=True)},
        language=sheet.recipe.language_name,
    )

    patience = sheet.recipe.gates.max_reasks

    def convert(reply: dict[str, str]) -> list[str]:
        nonlocal patience
        answers = [reply[key] for key in keys]
        # Answers that stay equal go on to the gates, where each is rewritten by itself.
        if (repeated := repeated_answers(answers)) and patience > 0:
            patience -= 1
            raise ValueError(f"Every variant needs an answer of its own; these are repeated: {repeated}.")
        return answers

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(keys, TEXT)))
    return await ask_structured(
        sheet.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, recipe=sheet.recipe
    )


def repeated_answers(answers: Sequence[str]) -> list[str]:
    """Answers that are the same but for case and spacing."""
    return duplicates([" ".join(answer.casefold().split()) for answer in answers])
