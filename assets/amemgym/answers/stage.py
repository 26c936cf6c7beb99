"""Stage 8: from the questions and the trajectory, one distinguishable answer per variant (section 3.1; App. C.3)."""

from collections.abc import Mapping, Sequence

from assets.amemgym import stage_summaries
from assets.amemgym.answers.gates import choice_gate, draft_answers, recovery_gate, repeated_answers
from assets.amemgym.answers.variants import QuestionVariants, Variant, lived_variants, variants_of
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import StateSchema, StateTrajectory
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.engine.async_calls import gather_all
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.gate import Gate, GateAttempt, RefinementBudget, is_accepted, pass_gate, rewrite
from assets.llm.ports import LanguageModel
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import AssetDescription, Row


async def write_answers(
    schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> AnswerSet:
    """Answer all questions at once, each answer through its gates; golden choices are stored by id."""
    questions = [
        QuestionVariants(question, schema, variants_of(question, schema, trajectory, recipe=recipe), recipe, model)
        for question in schema.questions
    ]
    answered = await gather_all(*(_answer_question(asked, trajectory) for asked in questions))
    return AnswerSet(
        user_id=schema.user_id,
        questions=tuple(answers for answers, _ in answered),
        gate_records=tuple(record for _, records in answered for record in records),
    )


async def _answer_question(asked: QuestionVariants, trajectory: StateTrajectory) -> tuple[QuestionAnswers, list[GateRecord]]:
    drafts = await draft_answers(asked, asked.variants, sample=0)
    attempts = {
        variant: GateAttempt(asked.item_id(variant), text) for variant, text in zip(asked.variants, drafts, strict=True)
    }
    await gather_all(
        *(pass_gate(recovery_gate(asked, variant), attempt, recipe=asked.recipe) for variant, attempt in attempts.items())
    )
    if asked.recipe.gates.reverse:
        await _settle_choices(asked, attempts)
    answers = [attempt.text for attempt in attempts.values()]
    if repeated_answers(answers):
        raise ItemFailed("rule_violated", f"Two answers of question {asked.question.question_id} have become equal.")
    records = [record for attempt in attempts.values() for record in attempt.records]
    return _in_shown_order(asked, answers, trajectory), records


async def _settle_choices(asked: QuestionVariants, attempts: Mapping[Variant, GateAttempt]) -> None:
    """Pass the choice gates in rounds, because they compare answers: every round sees all answers as the last one left them.

    An answer that was chosen is not judged again: whatever is rewritten later has passed against all other variants.
    """
    due, spent = list(attempts), {variant: RefinementBudget() for variant in attempts}
    while due:
        answers = [attempt.text for attempt in attempts.values()]
        gates = {variant: choice_gate(asked, variant, answers) for variant in due}
        passed = await gather_all(
            *(is_accepted(gate, attempts[variant], recipe=asked.recipe) for variant, gate in gates.items())
        )
        due = [variant for variant, chosen in zip(due, passed, strict=True) if not chosen]
        await gather_all(
            *(_rewrite(asked, variant, attempts[variant], gate=gates[variant], spent=spent[variant]) for variant in due)
        )


async def _rewrite(
    asked: QuestionVariants, variant: Variant, attempt: GateAttempt, *, gate: Gate, spent: RefinementBudget
) -> None:
    """Rewrite an answer that was not chosen, until its variant can be recovered from it again."""
    await rewrite(gate, attempt, spent=spent, policy=asked.recipe.gates)
    await pass_gate(recovery_gate(asked, variant), attempt, recipe=asked.recipe)


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
    version=3,
    description=AssetDescription(
        group="answers",
        description="One personalized answer per state variant of each question, kept when judges recovered the variant from "
        "it and chose it for the variant (paper section 3.1, App. C.3). The golden choice of every period is stored by id.",
        rows=_rows,
        summary=stage_summaries.summarize_answers,
    ),
)
