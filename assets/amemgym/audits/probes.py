"""Judges of the finished questions: are state and answer recovered from each other, and what can be guessed without?"""

from collections.abc import Sequence

from assets.amemgym.answers.gates import choice_schema, choose_answer, recover_variant
from assets.amemgym.audits.case import Asked, Case
from assets.amemgym.audits.rates import DIRECTIONS
from assets.amemgym.records.answer import AnswerChoice
from assets.amemgym.records.audit import Guess, Judgement, Recovery
from assets.engine.item_tasks import together
from assets.llm.structured_output import ask_structured
from assets.records.failure import UserFailed
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt

GUESSES: tuple[Guess, ...] = ("options_only", "question_only", "profile_only")


async def recover_pairs(case: Case) -> list[Judgement]:
    """The ambiguity audit: judges recover seeded variants from their answers, and the answers from the variants.

    Raises UserFailed for a pair that too few of its readings recover.
    """
    made = await together(
        *(_recover(case, asked, choice, probe=probe) for asked, choice in _pairs(case) for probe in DIRECTIONS)
    )
    return [judgement for judgements in made for judgement in judgements]


def _pairs(case: Case) -> list[tuple[Asked, AnswerChoice]]:
    """Questions with a variant that was lived through, every question once before any comes twice."""
    rng = case.rng("pairs")
    lived = [(asked, [one for one in asked.answers.choices if one.type == "experience"]) for asked in case.questions]
    ranked = [(rank, asked, choice) for asked, own in lived for rank, choice in enumerate(rng.shuffled(own))]
    mixed = sorted(rng.shuffled(ranked), key=lambda one: one[0])
    return [(asked, choice) for _, asked, choice in mixed[: case.recipe.audit.pairs]]


async def _recover(case: Case, asked: Asked, choice: AnswerChoice, *, probe: Recovery) -> list[Judgement]:
    """Judgements of one pair in one direction: a single one when the first is right, else as many as the recipe says."""
    judgements: list[Judgement] = []
    for sample in range(case.recipe.audit.tries):
        chosen = await _chosen(case, asked, choice, probe=probe, sample=sample)
        judgements.append(
            Judgement(
                probe=probe,
                question_id=asked.answers.question_id,
                period=None,
                expected=choice.choice_id,
                chosen=chosen,
                sample=sample,
            )
        )
        if chosen == choice.choice_id and sample == 0:
            break
    _check_recovery(case, asked, choice, judgements)
    return judgements


async def _chosen(case: Case, asked: Asked, choice: AnswerChoice, *, probe: Recovery, sample: int) -> str | None:
    trial, variant = (choice.choice_id, case.trial(sample)), asked.variant(choice)
    if probe == "state_from_answer":
        return asked.choice_id(await recover_variant(asked.sheet, choice.answer, trial=trial))
    return asked.choice_id(await choose_answer(asked.sheet, variant, asked.texts, trial=trial))


def _check_recovery(case: Case, asked: Asked, choice: AnswerChoice, judgements: Sequence[Judgement]) -> None:
    recovered, least = sum(one.chosen == one.expected for one in judgements), case.recipe.audit.min_recovery
    if recovered < least * len(judgements):
        raise UserFailed(
            "ambiguous",
            f"Question {asked.answers.question_id} is ambiguous for {asked.variant(choice).assignment}: "
            f"{recovered} of {len(judgements)} readings recovered {judgements[0].probe.replace('_', ' ')}, "
            f"and audit.min_recovery is {least}.",
            last_reply=choice.answer,
        )


async def guess_answers(case: Case) -> list[Judgement]:
    """The guessability wall's judge: every question asked without the state, forced to choose.

    The prompts do not change from period to period, so one guess counts against the right option of every period.
    """
    made = await together(
        *(
            _guess(case, asked, probe=probe, sample=sample)
            for asked in case.questions
            for probe in GUESSES
            for sample in range(case.recipe.audit.guesses)
        )
    )
    return [judgement for judgements in made for judgement in judgements]


async def _guess(case: Case, asked: Asked, *, probe: Guess, sample: int) -> list[Judgement]:
    question_id = asked.answers.question_id
    order = case.rng(probe, question_id, sample).shuffled(asked.answers.choices)

    def convert(reply: dict[str, int]) -> str:
        return order[reply["choice"] - 1].choice_id

    prompt = _prompt(case, asked, probe, options={str(place): one.answer for place, one in enumerate(order, start=1)})
    reply_schema = choice_schema(1, len(order))
    chosen = await ask_structured(
        case.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=sample,
        model_name=case.judge(sample),
        recipe=case.recipe,
    )
    return [
        Judgement(probe=probe, question_id=question_id, period=period, expected=golden, chosen=chosen, sample=sample)
        for period, golden in enumerate(asked.answers.golden)
    ]


def _prompt(case: Case, asked: Asked, probe: Guess, *, options: dict[str, str]) -> RenderedPrompt:
    prompt = load_prompt(f"audits/{probe}")
    known = {"options": options, "question": asked.sheet.question.text, "user_profile": case.profile.formatted_str}
    return prompt.render(**{name: known[name] for name in prompt.variables})
