"""What must hold of the audits: they are complete, about the user's own answers, and leave no ambiguous item."""

from collections.abc import Iterator

from assets.probes import GUESSES
from assets.records.answer import AnswerSet
from assets.records.audit import Judgement, Probe, UserAudit
from assets.records.recipe import Recipe
from validation.rules import Rule, expect


def every_question_is_guessed(record: UserAudit, answers: AnswerSet, recipe: Recipe) -> Iterator[str]:
    """Each question has the recipe's guesses of each kind, counted against every period's right option."""
    if not recipe.audit.enabled:
        return
    for probe in GUESSES:
        for question in answers.questions:
            own = [one for one in record.judgements if (one.probe, one.question_id) == (probe, question.question_id)]
            wanted = [(period, golden) for period, golden in enumerate(question.golden)] * recipe.audit.guesses
            found = [(one.period, one.expected) for one in own]
            yield from expect(found == wanted, f"{probe} has other keys of {question.question_id} than the answers")


def judgements_are_about_the_answers(record: UserAudit, answers: AnswerSet, _: Recipe) -> Iterator[str]:
    """Judges expected and chose options of the question asked."""
    options = {one.question_id: {choice.choice_id for choice in one.choices} for one in answers.questions}
    for one in record.judgements:
        known = {one.expected, *([one.chosen] if one.chosen else [])} <= options.get(one.question_id, set())
        yield from expect(known, f"{one.probe} of {one.question_id} is about options that the question has not")


def pairs_are_recovered(record: UserAudit, recipe: Recipe) -> Iterator[str]:
    """Judges recover every pair that was audited, at least as often as the recipe says."""
    pairs: dict[tuple[Probe, str, str], list[Judgement]] = {}
    for one in record.judgements:
        if one.period is None:
            pairs.setdefault((one.probe, one.question_id, one.expected), []).append(one)
    for (probe, _, expected), readings in pairs.items():
        recovered = sum(one.chosen == expected for one in readings)
        enough = recovered >= recipe.audit.min_recovery * len(readings)
        yield from expect(enough, f"{recovered} of {len(readings)} judges recovered {probe} of {expected}")


RULES = (
    Rule(
        "all_guessed", "Every question is guessed as often as the recipe says.", every_question_is_guessed, beside=("answers",)
    ),
    Rule("own_options", "Judges chose among the question's options.", judgements_are_about_the_answers, beside=("answers",)),
    Rule("unambiguous", "No audited item is ambiguous.", pairs_are_recovered),
)
