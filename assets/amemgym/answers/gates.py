"""The gates of an answer: a judge recovers its variant from it, and chooses it for its variant (section 3.1, App. C.3)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from assets.amemgym.answers.variants import QuestionVariants, Variant
from assets.amemgym.records.state import select_values
from assets.amemgym.rewriting import rewrite_text
from assets.llm.gate import Gate, ReadingTask
from assets.llm.structured_output import (
    PROSE,
    ReplySchema,
    ask_structured,
    integer_between,
    numbered,
    object_of,
    object_of_alike,
)
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import GatePolicy
from assets.text.text_checks import StyleCheck, near_duplicates
from prompts.catalogue import load_prompt

MOST_OF_ONE_QUESTION = 4  # answers in a call
ANSWERS_FOR_A_TEXT = 2  # as most of a case is what they share
ALIKE_IN_DRAFT = 0.75  # share of common words from which two drafted answers go back; the last check allows up to 0.9
T = TypeVar("T")


@dataclass(frozen=True)
class AnswerSubject:
    """The subject of a vote on an answer: its question and variant; for a choice, the answers of all variants in order."""

    asked: QuestionVariants
    variant: Variant
    answers: tuple[str, ...] = ()

    def shares_case(self, other: "AnswerSubject") -> bool:
        """Return True where both are of one question with the same situations and options."""
        return self.asked is other.asked and self.answers == other.answers


@dataclass
class AnswerCase:
    """The votes of one call that share a question and its variants, which are shown in this order. `tasks`: by number."""

    subject: AnswerSubject
    order: Sequence[Variant]
    tasks: dict[str, ReadingTask[AnswerSubject]] = field(default_factory=dict[str, ReadingTask[AnswerSubject]])


def answers_of_one_question(recipe: AMemGymRecipe) -> int:
    """Return how many answers to one question may share a call, which shows its situations or options once.

    About half of those that a question has, so that they hardly exclude one another.
    """
    options = recipe.balanced_options or recipe.min_variants_per_question
    return min(MOST_OF_ONE_QUESTION, math.ceil(options / 2))


def answers_per_call(gates: GatePolicy) -> int:
    """Return how many answers share a call."""
    return 1 if gates.texts_per_call == 1 else ANSWERS_FOR_A_TEXT * gates.texts_per_call


def recovery_gate(asked: QuestionVariants, variant: Variant) -> Gate[AnswerSubject]:
    """Return the gate that an answer passes when judges recover its variant from it."""

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        return await _refine(asked, variant, text, reading=reading or "could not tell", sample=sample)

    case = AnswerSubject(asked, variant)
    return Gate("recovery", variant.assignment, case, refine, lambda draft: _redraft(asked, variant, draft))


def choice_gate(asked: QuestionVariants, variant: Variant, answers: Sequence[str]) -> Gate[AnswerSubject]:
    """Return the gate that an answer passes when judges choose it for its variant.

    `answers`: those of all variants, in their order, as they are now.
    """
    answer_for = {other.values: answer for other, answer in zip(asked.variants, answers, strict=True)}

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        # Nothing chosen reads as {}, which is no variant's values.
        chosen = answer_for.get(tuple(reading.values()), "none")
        return await _refine(asked, variant, text, chosen=chosen, sample=sample)

    case = AnswerSubject(asked, variant, tuple(answers))
    return Gate("choice", variant.assignment, case, refine, lambda draft: _redraft(asked, variant, draft))


async def recover_variants(tasks: Sequence[ReadingTask[AnswerSubject]]) -> list[dict[str, str]]:
    """Return the variants a judge takes the answers to be for, {} where it cannot tell; variants shuffled per vote."""

    def show(case: AnswerCase) -> dict[str, object]:
        situations = numbered(variant.assignment for variant in case.order)
        answers = {number: task.text for number, task in case.tasks.items()}
        return {"question": case.subject.asked.question.text, "situations": situations, "answers": answers}

    return await _choose("answers/check", tasks, gate="recovery", show=show)


async def choose_answers(tasks: Sequence[ReadingTask[AnswerSubject]]) -> list[dict[str, str]]:
    """Return the variants whose answers a judge chooses for each task's variant, {} where none stands out."""

    def show(case: AnswerCase) -> dict[str, object]:
        asked = case.subject.asked
        answer_for = dict(zip(asked.variants, case.subject.answers, strict=True))
        answers = numbered(answer_for[variant] for variant in case.order)
        situations = {number: task.subject.variant.assignment for number, task in case.tasks.items()}
        return {"question": asked.question.text, "situations": situations, "answers": answers}

    return await _choose("answers/choose", tasks, gate="choice", show=show)


async def _choose(
    name: str,
    tasks: Sequence[ReadingTask[AnswerSubject]],
    *,
    gate: str,
    show: Callable[[AnswerCase], dict[str, object]],
) -> list[dict[str, str]]:
    """Return the variants that a judge chooses, one for each task, in one call; `show` returns a case as the judge gets it."""
    asked = tasks[0].subject.asked
    reworded = tasks[0].vote.reworded
    cannot_tell = asked.recipe.gates.cannot_tell
    cases: list[AnswerCase] = []
    orders: list[Sequence[Variant]] = []
    # The text that was rewritten most numbers the call, so that no earlier reply is found in the cache.
    sample = 0
    for number, task in numbered(tasks).items():
        case = next((case for case in cases if case.subject.shares_case(task.subject)), None)
        if case is None:
            order = task.subject.asked.shuffled(gate, item_id=task.item_id, vote=task.vote)
            case = AnswerCase(task.subject, order)
            cases.append(case)
        case.tasks[number] = task
        orders.append(case.order)
        sample = max(sample, task.vote.number)
    shown = map(show, cases)
    if reworded:
        shown = (dict(reversed(case.items())) for case in shown)
    prompt = load_prompt(name).render(cases=numbered(shown), cannot_tell=cannot_tell, reworded=reworded)

    def convert(reply: dict[str, int]) -> list[dict[str, str]]:
        return [variant.assignment if variant else {} for variant in chosen_options(orders, reply)]

    return await ask_structured(
        asked.model,
        prompt=prompt,
        reply=choices_schema(orders, cannot_tell=cannot_tell),
        convert=convert,
        sample=sample,
        model_name=tasks[0].vote.judge,
        settings=asked.recipe.asking,
    )


def choices_schema(cases: Sequence[Sequence[object]], *, cannot_tell: bool) -> ReplySchema[dict[str, int]]:
    """Return a schema that has, for each case by its number, the number of one of its options; 0 where none can be told."""
    lowest = 0 if cannot_tell else 1
    most = max(map(len, cases))
    return ReplySchema(object_of_alike(numbered(cases), integer_between(lowest, most)))


def chosen_options(cases: Sequence[Sequence[T]], reply: Mapping[str, int]) -> list[T | None]:
    """Return the option of each case that the reply chose, None for 0. Raises ValueError, with a sentence for the model."""
    chosen: list[T | None] = []
    for number, options in numbered(cases).items():
        choice = reply[number]
        if choice > len(options):
            raise ValueError(f"Case {number} has {len(options)} options; there is no {choice}.")
        chosen.append(options[choice - 1] if choice else None)
    return chosen


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
    in_context = partial(asked.in_context, variant)
    return await rewrite_text(
        prompt, "answer", in_context, noun="Answer", sample=sample, recipe=asked.recipe, model=asked.model
    )


async def _redraft(asked: QuestionVariants, variant: Variant, draft: int) -> str:
    # Alone in its call: the other variants' answers have passed, or are being rewritten themselves.
    (answer,) = await draft_answers(asked, [variant], sample=draft)
    return answer


def _alike_answers(answers: Sequence[str], variants: Sequence[Variant]) -> Iterator[str]:
    """Yield a sentence for the model on every two answers that share most of their words."""
    for first, second in near_duplicates(answers, share=ALIKE_IN_DRAFT):
        others = variants[second].assignment
        apart: list[str] = []
        for name, value in variants[first].assignment.items():
            if value != others[name]:
                apart.append(f"{name} is {value} in one, {others[name]} in the other")
        yield (
            f"Answers {first + 1} and {second + 1} say nearly the same, {answers[second]!r}, although {'; '.join(apart)}. "
            "Advise another thing to do in each."
        )


async def draft_answers(asked: QuestionVariants, variants: Sequence[Variant], *, sample: int) -> list[str]:
    """Return one answer for each variant, in their order; faults that block are left in one of several answers at most."""
    variant_of: dict[str, dict[str, str]] = {}
    for number, variant in enumerate(variants, start=1):
        variant_of[f"variant_{number}"] = variant.assignment
    required_info = select_values(asked.schema.choices, asked.question.required_info)
    if len(variants) == 1:
        # A writer who does not know what holds for others cannot bring it up.
        required_info = {name: [value] for name, value in variants[0].assignment.items()}
    prompt = load_prompt("answers/draft").render(
        question=asked.question.text,
        required_info=required_info,
        variants=variant_of,
        language=asked.recipe.language_name,
    )
    style = StyleCheck.of_texts(asked.recipe.gates.max_reasks, alone=len(variants) == 1, noun="Answer")

    def convert(reply: dict[str, str]) -> list[str]:
        answers = [reply[key] for key in variant_of]
        # Answers that stay alike go on to the gates, where each is rewritten by itself.
        also = " ".join(_alike_answers(answers, variants))
        style.check(map(asked.in_context, variants, answers), also=also)
        return answers

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(variant_of, PROSE)))
    return await ask_structured(
        asked.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=asked.recipe.asking
    )
