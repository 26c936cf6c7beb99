"""Judges of the finished questions: are state and answer recovered from each other, and what can be guessed without?"""

from collections.abc import Sequence

from assets.amemgym.answers.gates import choice_schema, choose_answer, recover_variant
from assets.amemgym.audits.rates import DIRECTIONS
from assets.amemgym.audits.user_parts import AuditedQuestion, AuditedUser
from assets.amemgym.records.audit import Guess, Judgement, Recovery
from assets.amemgym.records.question import AnswerChoice
from assets.engine.async_calls import gather_all
from assets.llm.structured_output import ask_structured
from assets.records.base import ItemFailed
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt

GUESSES: tuple[Guess, ...] = ("options_only", "question_only", "profile_only")


async def recover_pairs(user: AuditedUser) -> list[Judgement]:
    """The ambiguity audit: judges recover seeded variants from their answers, and the answers from the variants.

    Raises ItemFailed for a pair that too few of its readings recover.
    """
    parts = await gather_all(
        *(_recover(user, question, choice, probe=probe) for question, choice in _pairs(user) for probe in DIRECTIONS)
    )
    return [judgement for judgements in parts for judgement in judgements]


def _pairs(user: AuditedUser) -> list[tuple[AuditedQuestion, AnswerChoice]]:
    """Questions with a variant that was lived through, every question once before any comes twice."""
    rng = user.rng("pairs")
    lived = [(question, [one for one in question.answers.choices if one.type == "experience"]) for question in user.questions]
    ranked = [(rank, question, choice) for question, own in lived for rank, choice in enumerate(rng.shuffled(own))]
    mixed = sorted(rng.shuffled(ranked), key=lambda one: one[0])
    return [(question, choice) for _, question, choice in mixed[: user.recipe.audit.pairs]]


async def _recover(user: AuditedUser, question: AuditedQuestion, choice: AnswerChoice, *, probe: Recovery) -> list[Judgement]:
    """Judgements of one pair in one direction: a single one when the first is right, else as many as the recipe says."""
    judgements: list[Judgement] = []
    for sample in range(user.recipe.audit.tries):
        chosen = await _chosen(user, question, choice, probe=probe, sample=sample)
        judgements.append(
            Judgement(
                probe=probe,
                question_id=question.answers.question_id,
                period=None,
                expected=choice.choice_id,
                chosen=chosen,
                sample=sample,
            )
        )
        if chosen == choice.choice_id and sample == 0:
            break
    _check_recovery(user, question, choice, judgements)
    return judgements


async def _chosen(
    user: AuditedUser, question: AuditedQuestion, choice: AnswerChoice, *, probe: Recovery, sample: int
) -> str | None:
    vote, variant = user.vote(sample), question.variant(choice)
    if probe == "state_from_answer":
        return question.choice_id(await recover_variant(question.context, choice.answer, item_id=choice.choice_id, vote=vote))
    return question.choice_id(
        await choose_answer(question.context, variant, question.texts, item_id=choice.choice_id, vote=vote)
    )


def _check_recovery(
    user: AuditedUser, question: AuditedQuestion, choice: AnswerChoice, judgements: Sequence[Judgement]
) -> None:
    recovered, least = sum(one.chosen == one.expected for one in judgements), user.recipe.audit.min_recovery
    if recovered < least * len(judgements):
        raise ItemFailed(
            "ambiguous",
            f"Question {question.answers.question_id} is ambiguous for {question.variant(choice).assignment}: "
            f"{recovered} of {len(judgements)} readings recovered {judgements[0].probe.replace('_', ' ')}, "
            f"and audit.min_recovery is {least}.",
            last_reply=choice.answer,
        )


async def guess_answers(user: AuditedUser) -> list[Judgement]:
    """The guessability wall's judge: every question asked without the state, forced to choose.

    The prompts do not change from period to period, so one guess counts against the right option of every period.
    """
    parts = await gather_all(
        *(
            _guess(user, question, probe=probe, sample=sample)
            for question in user.questions
            for probe in GUESSES
            for sample in range(user.recipe.audit.guesses)
        )
    )
    return [judgement for judgements in parts for judgement in judgements]


async def _guess(user: AuditedUser, question: AuditedQuestion, *, probe: Guess, sample: int) -> list[Judgement]:
    question_id = question.answers.question_id
    order = user.rng(probe, question_id, sample).shuffled(question.answers.choices)

    def convert(reply: dict[str, int]) -> str:
        return order[reply["choice"] - 1].choice_id

    prompt = _prompt(user, question, probe, options={str(number): one.answer for number, one in enumerate(order, start=1)})
    reply_schema = choice_schema(1, len(order))
    chosen = await ask_structured(
        user.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=sample,
        model_name=user.judge(sample),
        recipe=user.recipe,
    )
    return [
        Judgement(probe=probe, question_id=question_id, period=period, expected=golden, chosen=chosen, sample=sample)
        for period, golden in enumerate(question.answers.golden)
    ]


def _prompt(user: AuditedUser, question: AuditedQuestion, probe: Guess, *, options: dict[str, str]) -> RenderedPrompt:
    prompt = load_prompt(f"audits/{probe}")
    known = {"options": options, "question": question.context.question.text, "user_profile": user.profile.formatted_str}
    return prompt.render(**{name: known[name] for name in prompt.variables})
