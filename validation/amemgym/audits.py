"""Rules about the audits: they are complete, about the user's own answers, and leave no ambiguous item."""

from collections import defaultdict
from collections.abc import Iterator

from assets.amemgym.audits.judgements import GUESSES, share_read_again
from assets.amemgym.records.audit import Probe, UserAudit
from assets.amemgym.records.question import AnswerSet
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from validation.rules import Rule, expect


def every_question_is_guessed(record: UserAudit, answers: AnswerSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Each probe guesses each question `audit.guesses` times at every period, and the right answer noted is the question's."""
    if not recipe.audit.enabled:
        return
    guesses: defaultdict[tuple[Probe, str], list[tuple[int | None, str]]] = defaultdict(list)
    for judgement in record.judgements:
        guesses[judgement.probe, judgement.question_id].append((judgement.period, judgement.expected))
    for probe in GUESSES:
        for question in answers.questions:
            right_answers = list(enumerate(question.golden))
            same = guesses[probe, question.question_id] == right_answers * recipe.audit.guesses
            yield from expect(
                same,
                f"guesses of {probe} at {question.question_id} are missing, or do not have the right answer of each period",
            )


def judgements_are_about_the_answers(record: UserAudit, answers: AnswerSet, _: AMemGymRecipe) -> Iterator[str]:
    options: defaultdict[str, set[str]] = defaultdict(set)
    for question in answers.questions:
        for choice in question.choices:
            options[question.question_id].add(choice.choice_id)
    for judgement in record.judgements:
        # A judge who cannot tell chose nothing.
        mentioned = {judgement.expected, judgement.chosen or judgement.expected}
        if not mentioned <= options[judgement.question_id]:
            yield f"{judgement.probe} of {judgement.question_id} is about options that the question does not have"


def perfect_memory_scores(record: UserAudit, recipe: AMemGymRecipe) -> Iterator[str]:
    pairs: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
    for judgement in record.judgements:
        if judgement.probe == "answer_from_state":
            pairs[judgement.question_id, judgement.period].append(judgement.chosen == judgement.expected)
    if not pairs:
        return
    score = sum(map(share_read_again, pairs.values())) / len(pairs)
    if score < recipe.audit.min_ceiling:
        asked = counted(len(pairs), "question")
        yield f"perfect memory scores {score:.2f} on {asked}, the recipe wants {recipe.audit.min_ceiling}"


RULES = (
    Rule(
        "all_guessed", "Every question is guessed as often as the recipe says.", every_question_is_guessed, reads=("answers",)
    ),
    Rule("own_options", "Judges chose among the question's options.", judgements_are_about_the_answers, reads=("answers",)),
    Rule("unambiguous", "On every user perfect memory scores what the recipe wants.", perfect_memory_scores),
)
