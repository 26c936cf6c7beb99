"""The gates of an answer: a judge recovers its variant from it, and chooses it for its variant (section 3.1, App. C.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.amemgym.answers.variants import QuestionVariants, Variant
from assets.amemgym.text_checks import StyleCheck, near_duplicates
from assets.llm.gate import Gate, ReadingTask
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, integer_between, object_of
from assets.records.base import Text
from prompts.catalogue import load_prompt


class AnswerReply(BaseModel):
    """The paper's key, for a refined answer."""

    answer: Text


@dataclass(frozen=True)
class AnswerSubject:
    """What a judge is asked about an answer: its question and variant; for a choice, the answers of all variants in order."""

    asked: QuestionVariants
    variant: Variant
    answers: tuple[str, ...] = ()

    @property
    def item_id(self) -> str:
        return self.asked.item_id(self.variant)


def recovery_gate(asked: QuestionVariants, variant: Variant) -> Gate[AnswerSubject]:
    """From the answer to its variant."""

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        return await _refine(asked, variant, text, reading=reading or "could not tell", sample=sample)

    case = AnswerSubject(asked, variant)
    return Gate("recovery", variant.assignment, case, refine, lambda draft: _redraft(asked, variant, draft))


def choice_gate(asked: QuestionVariants, variant: Variant, answers: Sequence[str]) -> Gate[AnswerSubject]:
    """From the variant to its answer. `answers`: those of all variants, in their order, as they are now."""
    answer_for = {other.values: answer for other, answer in zip(asked.variants, answers, strict=True)}

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        chosen = answer_for.get(tuple(reading.values()), "none")
        return await _refine(asked, variant, text, chosen=chosen, sample=sample)

    case = AnswerSubject(asked, variant, tuple(answers))
    return Gate("choice", variant.assignment, case, refine, lambda draft: _redraft(asked, variant, draft))


async def recover_variants(tasks: Sequence[ReadingTask[AnswerSubject]]) -> list[dict[str, str]]:
    """The variants a judge takes the answers to be for, {} where it cannot tell; variants shuffled per vote."""

    def shown(task: ReadingTask[AnswerSubject], order: Sequence[Variant]) -> dict[str, object]:
        situations = {str(number): variant.assignment for number, variant in enumerate(order, start=1)}
        return {"question": task.subject.asked.question.text, "situations": situations, "answer": task.text}

    return await _choose("answers/check", tasks, gate="recovery", shown=shown)


async def choose_answers(tasks: Sequence[ReadingTask[AnswerSubject]]) -> list[dict[str, str]]:
    """The variants whose answers a judge chooses who knows each task's variant to be the case, {} where none stands out."""

    def shown(task: ReadingTask[AnswerSubject], order: Sequence[Variant]) -> dict[str, object]:
        asked = task.subject.asked
        answer_for = {other.values: text for other, text in zip(asked.variants, task.subject.answers, strict=True)}
        answers = {str(number): answer_for[other.values] for number, other in enumerate(order, start=1)}
        return {"question": asked.question.text, "situation": task.subject.variant.assignment, "answers": answers}

    return await _choose("answers/choose", tasks, gate="choice", shown=shown)


async def _choose(
    name: str,
    tasks: Sequence[ReadingTask[AnswerSubject]],
    *,
    gate: str,
    shown: Callable[[ReadingTask[AnswerSubject], Sequence[Variant]], dict[str, object]],
) -> list[dict[str, str]]:
    asked = tasks[0].subject.asked
    orders = [task.subject.asked.shuffled(gate, item_id=task.item_id, vote=task.vote) for task in tasks]
    cases = {str(place): shown(task, order) for place, (task, order) in enumerate(zip(tasks, orders, strict=True), start=1)}
    prompt = load_prompt(name).render(cases=cases, cannot_tell=asked.recipe.gates.cannot_tell)
    lowest = 0 if asked.recipe.gates.cannot_tell else 1

    def convert(reply: dict[str, int]) -> list[dict[str, str]]:
        chosen = [reply[place] for place in cases]
        return [order[one - 1].assignment if one else {} for one, order in zip(chosen, orders, strict=True)]

    return await ask_structured(
        asked.model,
        prompt=prompt,
        reply=choices_schema([(lowest, len(order)) for order in orders]),
        convert=convert,
        sample=max(task.vote.number for task in tasks),
        model_name=tasks[0].vote.judge,
        recipe=asked.recipe,
    )


def choices_schema(ranges: Sequence[tuple[int, int]]) -> ReplySchema[dict[str, int]]:
    """For each case, by its number from 1, the number of what is chosen, between these bounds."""
    return ReplySchema(object_of({str(place): integer_between(*ends) for place, ends in enumerate(ranges, start=1)}))


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
    style = StyleCheck(asked.recipe.gates.max_reasks, strict=True, noun="Answer")

    def convert(reply: AnswerReply) -> str:
        style.check([asked.in_context(variant, reply.answer)])
        return reply.answer

    return await ask_structured(
        asked.model, prompt=prompt, reply=AnswerReply, convert=convert, sample=sample, recipe=asked.recipe
    )


async def _redraft(asked: QuestionVariants, variant: Variant, draft: int) -> str:
    return (await draft_answers(asked, [variant], sample=draft))[0]


async def draft_answers(asked: QuestionVariants, variants: Sequence[Variant], *, sample: int) -> list[str]:
    """One answer for each of the variants, in their order; faults that block are left in one of several answers at most."""
    keys = [f"variant_{index + 1}" for index in range(len(variants))]
    prompt = load_prompt("answers/draft").render(
        question=asked.question.text,
        required_info={name: asked.schema.choices[name] for name in asked.question.required_info},
        variants={key: variant.assignment for key, variant in zip(keys, variants, strict=True)},
        language=asked.recipe.language_name,
    )

    style = StyleCheck(asked.recipe.gates.max_reasks, strict=len(keys) == 1, noun="Answer")

    def convert(reply: dict[str, str]) -> list[str]:
        answers = [reply[key] for key in keys]
        # Answers that stay alike go on to the gates, where each is rewritten by itself.
        repeated = [answers[first] for first, _ in near_duplicates(answers)]
        style.check(
            map(asked.in_context, variants, answers),
            also=f"Every variant needs an answer of its own; these are repeated: {repeated}." if repeated else "",
        )
        return answers

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(keys, TEXT)))
    return await ask_structured(
        asked.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, recipe=asked.recipe
    )
