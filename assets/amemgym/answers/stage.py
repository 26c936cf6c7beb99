"""Stage 8: from the questions and the trajectory, one distinguishable answer per variant (section 3.1; App. C.3)."""

from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

from assets.amemgym.answers.gates import (
    ALIKE_IN_DRAFT,
    AnswerSubject,
    answers_of_one_question,
    answers_per_call,
    choice_gate,
    choose_answers,
    draft_answers,
    recover_variants,
    recovery_gate,
)
from assets.amemgym.answers.variants import QuestionVariants, Variant, lived_variants, variants_of
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import StateSchema, StateTrajectory
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, pass_gates, rewrite, take_votes
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import GateRecord, ItemFailed
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.text_checks import blocking_faults, near_duplicates

GatedAnswer = tuple[Gate[AnswerSubject], GateAttempt]


@dataclass(frozen=True)
class WrittenQuestion:
    """A question with its answers on their way through the gates, one for each variant and in the variants' order."""

    asked: QuestionVariants
    attempts: dict[Variant, GateAttempt]

    @property
    def answers(self) -> list[str]:
        """The answers as they are now."""
        return [attempt.text for attempt in self.attempts.values()]

    def answers_of(self, item_ids: Collection[str] | None) -> list[tuple[Variant, GateAttempt]]:
        """Return the answers of these ids with their variants; all of them for None."""
        pairs = self.attempts.items()
        return [(variant, attempt) for variant, attempt in pairs if item_ids is None or attempt.item_id in item_ids]


async def write_answers(
    schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> AnswerSet:
    """Answer all questions at once, each answer through its gates; golden choices are stored by id.

    At the gates answers to different questions share calls.
    """
    calls: list[Coroutine[Any, Any, WrittenQuestion]] = []
    for question in schema.questions:
        variants = variants_of(question, schema, trajectory, recipe=recipe)
        calls.append(_draft_question(QuestionVariants(question, schema, variants, recipe, model)))
    written = await gather_all(*calls)
    await _pass_recovery(written, recipe=recipe)
    if recipe.gates.reverse:
        await _settle_choices(written, recipe=recipe)
    questions: list[QuestionAnswers] = []
    records: list[GateRecord] = []
    for draft in written:
        questions.append(_finished_answers(draft, trajectory))
        for attempt in draft.attempts.values():
            records.extend(attempt.records)
    return AnswerSet(user_id=schema.user_id, questions=tuple(questions), gate_records=tuple(records))


async def answer_ahead(
    schema: StateSchema, trajectory: StateTrajectory, _: object, *, recipe: AMemGymRecipe, model: LanguageModel
) -> None:
    """Ask all about the answers as soon as there is an initial state, where it decides which ones there are."""
    if recipe.balanced_options is not None and len(trajectory.periods) == 1:
        await write_answers(schema, trajectory, recipe=recipe, model=model)


async def _draft_question(asked: QuestionVariants) -> WrittenQuestion:
    drafts = await draft_answers(asked, asked.variants, sample=0)
    repeated = {second for _, second in near_duplicates(drafts, share=ALIKE_IN_DRAFT)}
    alone = [number in repeated for number in range(len(drafts))]
    attempts = await gather_all(*map(_in_style, repeat(asked), asked.variants, drafts, alone))
    return WrittenQuestion(asked, dict(zip(asked.variants, attempts, strict=True)))


async def _in_style(asked: QuestionVariants, variant: Variant, draft: str, repeats: bool) -> GateAttempt:
    """Return the draft, or one written by itself where a call of several left a fault in it that a rule would block.

    Likewise where it `repeats` another: a writer that says one thing for all variants sees a single one then. Where nothing
    better comes of that, the gates refine it.
    """
    item_id = asked.item_id(variant)
    faults = blocking_faults(asked.in_context(variant, draft))
    if not repeats and not faults:
        return GateAttempt(item_id, draft)
    try:
        (answer,) = await draft_answers(asked, [variant], sample=1)
    except ItemFailed:
        if faults:
            raise
        return GateAttempt(item_id, draft)
    return GateAttempt(item_id, answer, draft=1)


async def _pass_recovery(
    written: Sequence[WrittenQuestion], *, recipe: AMemGymRecipe, item_ids: Collection[str] | None = None
) -> None:
    gated: list[list[GatedAnswer]] = []
    for draft in written:
        gates: list[GatedAnswer] = []
        for variant, attempt in draft.answers_of(item_ids):
            gates.append((recovery_gate(draft.asked, variant), attempt))
        gated.append(gates)
    size = answers_per_call(recipe.gates)
    await pass_gates(gated, recover_variants, size=size, of_one=answers_of_one_question(recipe), recipe=recipe)


async def _settle_choices(written: Sequence[WrittenQuestion], *, recipe: AMemGymRecipe) -> None:
    """Pass the choice gates in rounds, because they compare answers: every round sees all answers as the last one left them.

    An answer that was chosen is not judged again: whatever is rewritten later has passed against all other variants. What
    is rewritten has its variant recovered again before it is compared.
    """
    refused_ids: set[str] | None = None  # None in the first round, which judges all
    while refused_ids is None or refused_ids:
        gated: list[list[GatedAnswer]] = []
        for draft in written:
            gates: list[GatedAnswer] = []
            for variant, attempt in draft.answers_of(refused_ids):
                gates.append((choice_gate(draft.asked, variant, draft.answers), attempt))
            gated.append(gates)
        size = answers_per_call(recipe.gates)
        of_one = answers_of_one_question(recipe)
        decided = await take_votes(gated, choose_answers, size=size, of_one=of_one, recipe=recipe)
        rewrites: list[Coroutine[Any, Any, None]] = []
        refused_ids = set()
        for (gate, attempt), accepted in zip(chain.from_iterable(gated), decided, strict=True):
            if not accepted:
                rewrites.append(rewrite(gate, attempt, policy=recipe.gates))
                refused_ids.add(attempt.item_id)
        await gather_all(*rewrites)
        await _pass_recovery(written, recipe=recipe, item_ids=refused_ids)


def _finished_answers(written: WrittenQuestion, trajectory: StateTrajectory) -> QuestionAnswers:
    answers = written.answers
    pair = next(near_duplicates(answers), None)
    if pair is not None:
        first, second = pair
        alike = (answers[first], answers[second])
        message = f"Two answers of question {written.asked.question.question_id} are nearly the same: {alike}."
        raise ItemFailed("rule_violated", message)
    return _in_shuffled_order(written.asked, answers, trajectory)


def _in_shuffled_order(asked: QuestionVariants, answers: Sequence[str], trajectory: StateTrajectory) -> QuestionAnswers:
    """Shuffle the options by seed, name them by their new order, and look the golden ones up by variant."""
    # Variants may come in the order in which they were lived, so an unshuffled position would give the time away.
    question_id = asked.question.question_id
    rng = SeededRandom(asked.recipe.world_seed, asked.schema.user_id, "options", question_id)
    ids: dict[tuple[str, ...], str] = {}
    choices: list[AnswerChoice] = []
    for number, index in enumerate(rng.shuffled(range(len(answers))), start=1):
        variant = asked.variants[index]
        choice_id = f"{question_id}-c{number}"
        ids[variant.values] = choice_id
        choices.append(AnswerChoice(choice_id=choice_id, state=variant.values, answer=answers[index], type=variant.type))
    golden = tuple(ids[values] for values in lived_variants(asked.question, trajectory))
    return QuestionAnswers(question_id=question_id, choices=tuple(choices), golden=golden)


def _readings(recipe: AMemGymRecipe, gate: str) -> float:
    """Return the calls in which the gate's judges read every answer; answers share them."""
    options = recipe.balanced_options or recipe.min_variants_per_question
    shared = min(answers_per_call(recipe.gates), recipe.num_questions * answers_of_one_question(recipe))
    return recipe.gates.votes_for(gate)[1] * recipe.num_questions * options / shared


ANSWERS = Stage(
    name="answers",
    record=AnswerSet,
    make=write_answers,
    begins_with={STATE_TRAJECTORY.name: answer_ahead},
    needs=(STATE_SCHEMA, STATE_TRAJECTORY),
    prompts=("answers/draft", "answers/check", "answers/choose", "answers/refine"),
    calls={
        "answers/draft": PromptCalls(attrgetter("num_questions")),
        "answers/check": PromptCalls(lambda recipe: _readings(recipe, "recovery")),
        "answers/choose": PromptCalls(lambda recipe: _readings(recipe, "choice") * recipe.gates.reverse, always=False),
        "answers/refine": PromptCalls(attrgetter("num_questions"), always=False),
    },
    version=9,
    description=AssetDescription(
        group="texts",
        description="One personalized answer per state variant of each question, kept when judges recovered the variant from "
        "it and chose it for the variant (paper section 3.1, App. C.3). The golden choice of every period is stored by id.",
        rows=preview_rows("questions.choices", "question=question_id variant=state type answer"),
    ),
)
