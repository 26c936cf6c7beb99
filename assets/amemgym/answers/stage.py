"""Stage 8: from the questions and the trajectory, one distinguishable answer per variant (section 3.1; App. C.3)."""

from collections.abc import Mapping, Sequence

from assets.amemgym import stage_summaries
from assets.amemgym.answers.gates import (
    choice_gate,
    choose_answers,
    draft_answers,
    recover_variants,
    recovery_gate,
)
from assets.amemgym.answers.variants import QuestionVariants, Variant, lived_variants, variants_of
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import StateSchema, StateTrajectory
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.text_checks import blocking_faults, near_duplicates
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import GateAttempt, decide, independent_groups, pass_gates, rewrite
from assets.llm.ports import LanguageModel
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

Attempts = Mapping[Variant, GateAttempt]


async def write_answers(
    schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> AnswerSet:
    """Answer all questions at once, each answer through its gates; golden choices are stored by id.

    At the gates answers to different questions share calls.
    """
    questions = [
        QuestionVariants(question, schema, variants_of(question, schema, trajectory, recipe=recipe), recipe, model)
        for question in schema.questions
    ]
    drafts = await gather_all(*(draft_answers(asked, asked.variants, sample=0) for asked in questions))
    calls = [
        gather_all(*(_in_style(asked, *pair) for pair in zip(asked.variants, texts, strict=True)))
        for asked, texts in zip(questions, drafts, strict=True)
    ]
    styled = await gather_all(*calls)
    attempts = [dict(zip(asked.variants, own, strict=True)) for asked, own in zip(questions, styled, strict=True)]
    written = list(zip(questions, attempts, strict=True))
    await _pass_recovery(written, recipe=recipe)
    if recipe.gates.reverse:
        await _settle_choices(written, recipe=recipe)
    return AnswerSet(
        user_id=schema.user_id,
        questions=tuple(_finished(asked, own, trajectory) for asked, own in written),
        gate_records=tuple(record for own in attempts for attempt in own.values() for record in attempt.records),
    )


async def _in_style(asked: QuestionVariants, variant: Variant, draft: str) -> GateAttempt:
    """The draft, or one written by itself where it came out of a call of several with a fault that a rule would block."""
    if not blocking_faults(asked.in_context(variant, draft)):
        return GateAttempt(asked.item_id(variant), draft)
    return GateAttempt(asked.item_id(variant), (await draft_answers(asked, [variant], sample=1))[0], draft=1)


async def _pass_recovery(due: Sequence[tuple[QuestionVariants, Attempts]], *, recipe: AMemGymRecipe) -> None:
    gated = [[(recovery_gate(asked, variant), attempt) for variant, attempt in own.items()] for asked, own in due]
    await pass_gates(gated, recover_variants, size=recipe.gates.texts_per_call, recipe=recipe)


async def _settle_choices(written: Sequence[tuple[QuestionVariants, Attempts]], *, recipe: AMemGymRecipe) -> None:
    """Pass the choice gates in rounds, because they compare answers: every round sees all answers as the last one left them.

    An answer that was chosen is not judged again: whatever is rewritten later has passed against all other variants. What
    is rewritten has its variant recovered again before it is compared.
    """
    due = [(asked, dict(own)) for asked, own in written]
    while any(own for _, own in due):
        texts = [[attempt.text for attempt in own.values()] for _, own in written]
        gated = [
            [(choice_gate(asked, variant, answers), attempt) for variant, attempt in own.items()]
            for (asked, own), answers in zip(due, texts, strict=True)
        ]
        groups = independent_groups(gated, size=recipe.gates.texts_per_call)
        passed = await gather_all(*(decide(group, choose_answers, recipe=recipe) for group in groups))
        refused = [
            text
            for group, decisions in zip(groups, passed, strict=True)
            for text, ok in zip(group, decisions, strict=True)
            if not ok
        ]
        await gather_all(*(rewrite(gate, attempt, policy=recipe.gates) for gate, attempt in refused))
        left = {attempt.item_id for _, attempt in refused}
        due = [(asked, {variant: attempt for variant, attempt in own.items() if attempt.item_id in left}) for asked, own in due]
        await _pass_recovery(due, recipe=recipe)


def _finished(asked: QuestionVariants, attempts: Attempts, trajectory: StateTrajectory) -> QuestionAnswers:
    answers = [attempt.text for attempt in attempts.values()]
    if pairs := [(answers[one], answers[other]) for one, other in near_duplicates(answers)]:
        message = f"Two answers of question {asked.question.question_id} are nearly the same: {pairs[0]}."
        raise ItemFailed("rule_violated", message)
    return _in_shown_order(asked, answers, trajectory)


def _in_shown_order(asked: QuestionVariants, answers: Sequence[str], trajectory: StateTrajectory) -> QuestionAnswers:
    """Shuffle the options by seed, name them by the order shown, and look the golden ones up by variant."""
    question_id = asked.question.question_id
    order = SeededRandom(asked.recipe.seed, asked.schema.user_id, "options", question_id).shuffled(range(len(answers)))
    ids = {asked.variants[index].values: f"{question_id}-c{number}" for number, index in enumerate(order, start=1)}
    choices = tuple(
        AnswerChoice(
            choice_id=ids[asked.variants[index].values],
            state=asked.variants[index].values,
            answer=answers[index],
            type=asked.variants[index].type,
        )
        for index in order
    )
    golden = tuple(ids[values] for values in lived_variants(asked.question, trajectory))
    return QuestionAnswers(question_id=question_id, choices=choices, golden=golden)


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
    prompts=("answers/draft", "answers/check", "answers/choose", "answers/refine"),
    version=5,
    description=AssetDescription(
        group="answers",
        description="One personalized answer per state variant of each question, kept when judges recovered the variant from "
        "it and chose it for the variant (paper section 3.1, App. C.3). The golden choice of every period is stored by id.",
        rows=_rows,
        summary=stage_summaries.summarize_answers,
    ),
)
