"""Defects in answers, their audits and whole episodes."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from tests.validation import defects
from tests.validation.defects import Defect, at, changed, edited, lacking, swapped, twice
from tests.validation.defects_in_texts import ANYWHERE, faulty
from tests.validation.defects_in_texts import IN_ANSWERS as IN_ANSWER_TEXTS


def name_of_the_second(rows: list[Any]) -> list[Any]:
    """The first user asks about the second."""
    return at("questions", 0, query=f"What would {rows[1].user_profile.name} do in my place?")(rows)


def like_another(rows: list[Any]) -> list[Any]:
    """The second option has the words of the first and one more."""
    first, second, *others = rows[0].questions[0].choices
    near = defects.spoiled(second, answer=f"{first.answer} Enjoy.")
    return at("questions", 0, choices=(first, near, *others))(rows)


IN_ANSWERS: Mapping[str, tuple[Defect, ...]] = {
    "stage answers": (
        Defect(
            "a wrong key", "golden_is_right", edited("questions", 0, edit=defects.wrong_key), "in period 0 the key of q01 is"
        ),
        Defect("two identical answers", "options_differ", defects.like_the_second("answer"), "equal answers"),
        Defect("two options for one variant", "options_differ", defects.like_the_second("state"), "equal variants"),
        Defect("two options with one id", "options_differ", defects.like_the_second("choice_id"), "equal choice ids"),
        Defect(
            "a key to nothing",
            "options_differ",
            changed("questions", 0, "golden", to=lambda g: ("q01-c99", *g[1:])),
            "do not exist",
        ),
        Defect("an unanswered question", "all_answered", lacking("questions"), "answers the questions ['q02', 'q03']"),
        Defect("a missing option", "enough_options", changed("questions", 0, "choices", to=lambda c: c[:3]), "has 3 options"),
        Defect("a missing key", "enough_options", lacking("questions", 0, "golden"), "q01 has 4 golden choices"),
        Defect(
            "an option for no variant",
            "legal_variants",
            at("questions", 0, "choices", 0, state=("x", "y")),
            "which is no variant",
        ),
        Defect("values out of order", "legal_variants", swapped("questions", 0, "choices", 0, "state"), "which is no variant"),
        Defect(
            "a life not lived", "types_are_right", changed("questions", 0, "choices", to=defects.other_types), "has the type"
        ),
        Defect(
            "an answer changed later",
            "answers_passed_gates",
            at("questions", 0, "choices", 0, answer="No."),
            "of the recovery gate",
        ),
        Defect("a gate never passed", "answers_passed_gates", at(gate_records=()), "0 accepting votes of the choice gate"),
        Defect(
            "an answer of one word",
            "a_few_sentences",
            at("questions", 0, "choices", 0, answer="Rest"),
            "q01-c1 has 0 sentences",
        ),
        Defect(
            "a long answer", "a_few_sentences", at("questions", 0, "choices", 0, answer="Go. " * 5), "q01-c1 has 5 sentences"
        ),
        Defect(
            "an answer that tells its value",
            "no_copied_value",
            edited("questions", 0, "choices", 0, edit=defects.label),
            "spells",
        ),
        *faulty(ANYWHERE + IN_ANSWER_TEXTS, lambda text: at("questions", 0, "choices", 0, answer=text)),
        Defect("an option in nearly the words of another", "options_apart", like_another, "nearly all their words"),
        Defect("position bias", "no_favoured_position", defects.always_first, "option 1 is right at first in 36 of 36"),
    ),
    "file answers": (
        Defect("a snapshot with two equal answers", "reader", defects.like_the_second("answer"), "equal answers"),
    ),
    "stage audits": (
        Defect("a question never guessed", "all_guessed", at(judgements=()), "at q01 are missing"),
        Defect(
            "a judgement of no option",
            "own_options",
            changed("judgements", 0, "expected", to=lambda _: "q01-c99"),
            "does not have",
        ),
        Defect(
            "an ambiguous answer",
            "unambiguous",
            changed("judgements", to=defects.never_recovered),
            "perfect memory scores 0.00",
        ),
    ),
    "stage episodes": (
        Defect("a text about another user", "own_name_only", name_of_the_second, "has the name of another user"),
        Defect("a question lost", "complete", lacking("questions"), "has 2 questions"),
        Defect("a period lost", "complete", changed("periods", to=lambda p: p[:-1]), "has 4 periods"),
        Defect("another first day", "complete", at(start_date=date(2021, 1, 1)), "starts on 2021-01-01"),
        Defect("a wrong key at last", "consistent", edited("questions", 0, edit=defects.wrong_key), "has the golden choice"),
        Defect("a part of another user", "consistent", at("user_profile", user_id="another"), "belongs to user 'another'"),
        Defect("a question on nothing", "consistent", at("questions", 0, required_info=("x", "y")), "unknown variables"),
        Defect(
            "changes that no session tells",
            "consistent",
            changed("periods", 1, "sessions", to=lambda own: tuple(session for session in own if session.is_noise)),
            "exactly its updates",
        ),
        Defect("a miscounted change", "updates_counted", at("periods", 1, update_counts={}), "period 1 counts None updates"),
        Defect("a user released twice", "one_row_per_user", twice, "has 2 rows"),
    ),
}
