"""Stage 8: one distinguishable answer per variant, with reflection (section 3.1; App. C.3, personalized answers)."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from assets.asking import Ask, ask
from assets.chance import Chance
from assets.desk import together
from assets.gate import Gate, Trial, pass_gate
from assets.legal import LegalReply, texts
from assets.ports import LanguageModel
from assets.records.answer import AnswerChoice, AnswerSet, QuestionAnswers
from assets.records.base import Text, duplicates
from assets.records.failure import UserFailed
from assets.records.gate import GateRecord
from assets.records.recipe import Recipe
from assets.records.schema import SchemaQuestion, StateSchema
from assets.records.trajectory import StateTrajectory
from assets.stage import Face, Row, stage_asset
from assets.stage_kind import Stage
from assets.state_schema import STATE_SCHEMA
from assets.state_trajectory import STATE_TRAJECTORY
from assets.variants import Variant, lived, variants_of
from prompts.catalogue import load_prompt


class CheckReply(BaseModel):
    """The number of the variant recognized; 0 for none."""

    choice: int = Field(ge=0)


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


async def write_answers(schema: StateSchema, trajectory: StateTrajectory, *, recipe: Recipe, model: LanguageModel) -> AnswerSet:
    """Answer all questions at once, each answer through its recovery gate; golden choices are stored by id."""
    sheets = [
        Sheet(question, schema, variants_of(question, schema, trajectory, recipe=recipe), recipe, model)
        for question in schema.questions
    ]
    made = await together(*(_answer_question(sheet, trajectory) for sheet in sheets))
    return AnswerSet(
        user_id=schema.user_id,
        questions=tuple(answers for answers, _ in made),
        gate_records=tuple(record for _, records in made for record in records),
    )


async def _answer_question(sheet: Sheet, trajectory: StateTrajectory) -> tuple[QuestionAnswers, list[GateRecord]]:
    drafts = await _draft(sheet, sheet.variants, sample=0)
    passed = await together(
        *(
            pass_gate(_gate(sheet, variant, index), text, policy=sheet.recipe.gates)
            for index, (variant, text) in enumerate(zip(sheet.variants, drafts, strict=True))
        )
    )
    answers = [text for text, _ in passed]
    if duplicates([" ".join(answer.casefold().split()) for answer in answers]):
        raise UserFailed("rule_violated", f"Two answers of question {sheet.question.question_id} have become equal.")
    return _in_shown_order(sheet, answers, trajectory), [record for _, records in passed for record in records]


def _in_shown_order(sheet: Sheet, answers: Sequence[str], trajectory: StateTrajectory) -> QuestionAnswers:
    """Shuffle the options by seed, name them by the order shown, and look the golden ones up by variant."""
    question_id = sheet.question.question_id
    order = Chance(sheet.recipe.seed, sheet.schema.user_id, "options", question_id).shuffled(range(len(answers)))
    ids = {sheet.variants[index].values: f"{question_id}-c{place + 1}" for place, index in enumerate(order)}
    choices = tuple(
        AnswerChoice(
            choice_id=ids[sheet.variants[index].values],
            state=sheet.variants[index].values,
            answer=answers[index],
            type=sheet.variants[index].type,
        )
        for index in order
    )
    golden = tuple(ids[values] for values in lived(sheet.question, trajectory))
    return QuestionAnswers(question_id=question_id, choices=choices, golden=golden)


async def _draft(sheet: Sheet, variants: list[Variant], *, sample: int) -> list[str]:
    keys = [f"variant_{index + 1}" for index in range(len(variants))]
    prompt = load_prompt("answers/draft").render(
        question=sheet.question.text,
        required_info={name: sheet.schema.choices[name] for name in sheet.question.required_info},
        variants={key: variant.assignment for key, variant in zip(keys, variants, strict=True)},
        language=sheet.recipe.language_name,
    )

    def read(reply: LegalReply) -> list[str]:
        given = reply.given()
        answers = [str(given[key]).strip() for key in keys]
        repeated = duplicates([" ".join(answer.casefold().split()) for answer in answers])
        if repeated or not all(answers):
            raise ValueError(f"Every variant needs an answer of its own; these are repeated or empty: {repeated}.")
        return answers

    return await ask(sheet.model, Ask(prompt, texts(keys), read, sample), recipe=sheet.recipe)


def _gate(sheet: Sheet, variant: Variant, index: int) -> Gate:
    item_id = f"{sheet.question.question_id}-v{index + 1}"

    async def judge(text: str, trial: Trial) -> dict[str, str]:
        return await recover_variant(sheet, text, trial=(item_id, trial))

    async def refine(text: str, reading: dict[str, str], trial: Trial) -> str:
        return await _refine(sheet, variant, text=text, reading=reading, trial=trial)

    async def redraft(number: int) -> str:
        return (await _draft(sheet, [variant], sample=number))[0]

    return Gate(name="recovery", item_id=item_id, target=variant.assignment, judge=judge, refine=refine, redraft=redraft)


async def recover_variant(sheet: Sheet, answer: str, *, trial: tuple[str, Trial]) -> dict[str, str]:
    """The variant a judge takes the answer to be for, {} where it cannot tell; variants shuffled per trial."""
    item_id, number = trial
    order = Chance(sheet.recipe.seed, sheet.schema.user_id, "recovery", item_id, number.number).shuffled(sheet.variants)
    prompt = load_prompt("answers/check").render(
        question=sheet.question.text,
        answer=answer,
        choices={str(place + 1): variant.assignment for place, variant in enumerate(order)},
        cannot_tell=sheet.recipe.gates.cannot_tell,
    )

    def read(reply: CheckReply) -> dict[str, str]:
        lowest = 0 if sheet.recipe.gates.cannot_tell else 1
        if not lowest <= reply.choice <= len(order):
            raise ValueError(f"{reply.choice} is no choice; answer with a number from {lowest} to {len(order)}.")
        return order[reply.choice - 1].assignment if reply.choice else {}

    return await ask(sheet.model, Ask(prompt, CheckReply, read, number.number), recipe=sheet.recipe)


async def _refine(sheet: Sheet, variant: Variant, *, text: str, reading: dict[str, str], trial: Trial) -> str:
    prompt = load_prompt("answers/refine").render(
        question=sheet.question.text,
        matched_state=variant.assignment,
        other_states=[other.assignment for other in sheet.variants if other != variant],
        answer=text,
        reading=reading or "could not tell",
        language=sheet.recipe.language_name,
    )
    return await ask(sheet.model, Ask(prompt, AnswerReply, lambda reply: reply.answer, trial.number), recipe=sheet.recipe)


def _rows(record: AnswerSet) -> list[Row]:
    return [
        {"question": answers.question_id, "variant": choice.state, "type": choice.type, "answer": choice.answer}
        for answers in record.questions
        for choice in answers.choices
    ]


ANSWERS = Stage(
    name="answers",
    record=AnswerSet,
    make=write_answers,
    needs=(STATE_SCHEMA, STATE_TRAJECTORY),
    prompts=("answers/draft", "answers/check", "answers/refine"),
)
answers = stage_asset(
    ANSWERS,
    Face(
        group="answers",
        description="One personalized answer per state variant of each question, kept when a judge recovered the variant from "
        "it (paper section 3.1, App. C.3). The golden choice of every period is stored by id.",
        rows=_rows,
    ),
)
