"""What must hold of the audits: they are complete, about the user's own answers, and leave no ambiguous item."""

from collections import defaultdict
from collections.abc import Iterator

from assets.amemgym.audits.judgements import GUESSES, share_read_again
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import Probe, UserAudit
from assets.amemgym.records.question import AnswerSet
from validation.rules import Rule, expect


def every_question_is_guessed(record: UserAudit, answers: AnswerSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Each question has the recipe's guesses of each kind, counted against every period's right option."""
    if not recipe.audit.enabled:
        return
    guesses: defaultdict[tuple[Probe, str], list[tuple[int | None, str]]] = defaultdict(list)
    for one in record.judgements:
        guesses[one.probe, one.question_id].append((one.period, one.expected))
    for probe in GUESSES:
        for question in answers.questions:
            same = guesses[probe, question.question_id] == list(enumerate(question.golden)) * recipe.audit.guesses
            yield from expect(same, f"{probe} has other keys of {question.question_id} than the answers")


def judgements_are_about_the_answers(record: UserAudit, answers: AnswerSet, _: AMemGymRecipe) -> Iterator[str]:
    """Judges expected and chose options of the question asked."""
    options = {(one.question_id, choice.choice_id) for one in answers.questions for choice in one.choices}
    for one in record.judgements:
        mentioned = (one.expected, one.chosen or one.expected)
        if any((one.question_id, option) not in options for option in mentioned):
            yield f"{one.probe} of {one.question_id} is about options that the question has not"


def perfect_memory_scores(record: UserAudit, recipe: AMemGymRecipe) -> Iterator[str]:
    """On the user's sampled questions perfect memory scores as much as the recipe says, by the judges of the audit."""
    pairs: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
    for one in record.judgements:
        if one.probe == "answer_from_state":
            pairs[one.question_id, one.period].append(one.chosen == one.expected)
    shares = [share_read_again(readings) for readings in pairs.values()]
    if shares and (score := sum(shares) / len(shares)) < recipe.audit.min_ceiling:
        yield f"perfect memory scores {score:.2f} on {len(shares)} questions, the recipe wants {recipe.audit.min_ceiling}"


RULES = (
    Rule(
        "all_guessed", "Every question is guessed as often as the recipe says.", every_question_is_guessed, reads=("answers",)
    ),
    Rule("own_options", "Judges chose among the question's options.", judgements_are_about_the_answers, reads=("answers",)),
    Rule("unambiguous", "On every user perfect memory scores what the recipe wants.", perfect_memory_scores),
)
