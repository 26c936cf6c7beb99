"""The limits of shortcut baselines let clean sets pass, however small, and name what gives an answer away."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.amemgym.records.audit import Probe, UserAudit
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.report import ShortcutLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import ShortcutPolicy
from tests.support import scenario
from tests.support.scenario import varied
from tests.validation.random_questions import (
    OPTIONS,
    PERIODS,
    adding,
    audits,
    favourite,
    frozen,
    moved,
    random_users,
    shortened,
)
from tests.validation.reports import shortcut_lines

RECIPE = scenario.recipe(num_periods=PERIODS - 1)


def shortcuts(
    episodes: Sequence[Episode], audited: Sequence[UserAudit] = (), *, recipe: AMemGymRecipe = RECIPE
) -> dict[str, ShortcutLine]:
    return {line.shortcut: line for line in shortcut_lines(episodes, audited, recipe=recipe)}


def alone(one: Episode, *questions: EpisodeQuestion) -> Episode:
    """A user of whom there is nothing but a profile and these questions."""
    return Episode.model_construct(user_id="u", user_profile=one.user_profile, periods=(), questions=questions)


def crossed(lines: dict[str, ShortcutLine]) -> set[str]:
    return {name for name, line in lines.items() if line.verdict == "crossed"}


@pytest.mark.slow
@pytest.mark.parametrize(("users", "sets"), [(2, 20), (3, 20), (20, 4)])
def test_clean_sets_pass_whatever_the_seed(users: int, sets: int) -> None:
    assert [crossed(shortcuts(random_users(users, seed=seed))) for seed in range(sets)] == [set[str]()] * sets


SHORTCUTS: list[tuple[str, Callable[[EpisodeQuestion], EpisodeQuestion]]] = [
    ("longest", adding(" And do so for at least a whole month, twice a week, whatever else may come along.")),
    ("shortest", shortened),
    ("place 2", moved),
    ("like the question", adding(" How should I go?")),
    ("like the profile", adding(" As a night nurse of 41: bachelors, running, triage.")),
    ("least common words", adding(" Sesquipedalian zythology quokka vexillology numismatics fjord.")),
    ("stale", frozen),
]


@pytest.mark.parametrize(("shortcut", "plant"), SHORTCUTS, ids=[shortcut for shortcut, _ in SHORTCUTS])
def test_what_gives_the_answer_away_is_crossed_and_named(
    shortcut: str, plant: Callable[[EpisodeQuestion], EpisodeQuestion]
) -> None:
    line = shortcuts(random_users(20, change=plant))[shortcut]
    assert line.verdict == "crossed"
    assert line.accuracy.low is not None
    assert line.accuracy.low > line.limit > line.random
    assert len(line.worst) == 3
    assert all(item.share > 0.5 and item.query == "How early should I go?" and item.text for item in line.worst)


def test_a_cue_in_half_of_the_questions_is_crossed_too() -> None:
    assert "longest" in crossed(shortcuts(random_users(20, change=SHORTCUTS[0][1], share=0.5)))


@pytest.mark.parametrize("probe", ["options_only", "question_only", "profile_only"])
def test_a_judge_who_finds_the_answer_is_crossed(probe: Probe) -> None:
    episodes = random_users(20)
    lines = shortcuts(episodes, audits(episodes, probe, favourite))
    assert probe.replace("_", " ") in crossed(lines)


def test_a_profile_may_tell_the_start_and_the_options_alone_may_not() -> None:
    episodes = random_users(20)
    known = {probe: audits(episodes, probe, lambda one: one.golden[0]) for probe in ("profile_only", "options_only")}
    assert crossed(shortcuts(episodes, [*known["profile_only"], *known["options_only"]])) == {"options only"}


def test_a_judge_who_cannot_tell_guesses_and_one_who_was_not_asked_has_no_line() -> None:
    episodes = random_users(3)
    lines = shortcuts(episodes, audits(episodes, "question_only", lambda _: None))
    assert lines["question only"].accuracy.value == pytest.approx(1 / OPTIONS)
    assert "options only" not in lines


def test_a_judge_asked_twice_spreads_the_choice() -> None:
    episodes = random_users(2)
    first, second = (
        audits(episodes, "options_only", lambda one, place=place: one.answer_choices[place].choice_id) for place in (0, 1)
    )
    lines = shortcuts(episodes, [*first, *second])
    both = [lines[name].accuracy.value or 0.0 for name in ("place 1", "place 2")]
    assert lines["options only"].accuracy.value == pytest.approx(sum(both) / 2, abs=1e-5)


def test_guessing_is_in_closed_form_over_questions_of_any_size() -> None:
    one = scenario.episode()
    (first, second), choices = one.questions, one.questions[0].answer_choices
    smaller = varied(first, answer_choices=(choices[0], choices[2]))
    line = shortcuts([alone(one, smaller, second)])["random"]
    assert line.accuracy.value == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert (line.items, line.verdict) == (6, "unlimited")


def test_a_place_is_measured_over_the_questions_that_have_it() -> None:
    one = scenario.episode()
    smaller = varied(one.questions[0], answer_choices=(one.questions[0].answer_choices[0], one.questions[0].answer_choices[2]))
    lines = shortcuts(
        [Episode.model_construct(user_id="u", user_profile=one.user_profile, periods=(), questions=(smaller, one.questions[1]))]
    )
    assert (lines["place 2"].items, lines["place 3"].items, lines["last place"].items) == (6, 3, 6)
    assert lines["place 3"].random == pytest.approx(1 / 3, abs=1e-6)


def test_equal_lengths_are_a_guess() -> None:
    same = random_users(
        2,
        change=lambda one: varied(
            one, answer_choices=tuple(varied(c, answer=f"same {i}") for i, c in enumerate(one.answer_choices))
        ),
    )
    assert shortcuts(same)["longest"].accuracy.value == pytest.approx(1 / OPTIONS)


def test_what_one_user_shows_blocks_nothing() -> None:
    line = shortcuts(random_users(1, change=moved))["place 2"]
    assert (line.accuracy.low, line.verdict) == (None, "holds")


def test_nobody_has_no_wall() -> None:
    assert shortcuts([]) == {}


def test_the_stale_line_may_reach_more_where_there_are_fewer_periods() -> None:
    limits = [shortcuts(random_users(2), recipe=scenario.recipe(num_periods=periods))["stale"].limit for periods in (2, 4, 10)]
    assert limits == sorted(limits, reverse=True)


def test_what_no_assistant_sees_is_told_and_never_crossed() -> None:
    lines = shortcuts(random_users(20, change=moved))
    assert {name for name, line in lines.items() if line.verdict == "unlimited"} == {
        "random",
        "best fixed choice",
    }


@pytest.mark.parametrize(
    ("shortcut", "text"),
    [
        ("learned length", " And so on and on."),
        ("learned form", "; really!"),
        ("learned words", " Zythology."),
        ("learned all", "; (zythology)"),
    ],
)
def test_a_guesser_learns_from_others_what_marks_the_right_option(shortcut: str, text: str) -> None:
    line = shortcuts(random_users(20, change=adding(text), share=0.5))[shortcut]
    assert (line.verdict, line.limit) == ("crossed", pytest.approx(line.random + 0.02))
    assert len(line.worst) == 3


def copied(users: Sequence[Episode], *, times: int) -> list[Episode]:
    """The users with so many copies of each, under ids of their own."""
    return [one.model_copy(update={"user_id": f"{one.user_id}+{number}"}) for number in range(times) for one in users]


def test_copies_of_users_teach_nobody_the_answer() -> None:
    users = random_users(20)
    assert {name for name in crossed(shortcuts(copied(users, times=5))) if name.startswith("learned")} == set()


def test_copies_of_users_count_once_among_what_is_learned() -> None:
    users = random_users(20)
    lines, copies = shortcuts(users), shortcuts(copied(users, times=3))
    for name in ("learned length", "learned form", "learned words", "learned all"):
        assert copies[name].items == lines[name].items
        assert copies[name].luck == pytest.approx(lines[name].luck, abs=1e-3)


def test_a_copy_is_known_by_its_options_in_any_order_and_case() -> None:
    def turned(question: EpisodeQuestion) -> EpisodeQuestion:
        options = tuple(varied(one, answer=one.answer.upper()) for one in reversed(question.answer_choices))
        return varied(question, answer_choices=options)

    users = random_users(20)
    copies = [one.model_copy(update={"questions": tuple(map(turned, one.questions))}) for one in copied(users, times=1)]
    assert shortcuts([*users, *copies])["learned words"].items == shortcuts(users)["learned words"].items


def test_copies_of_few_users_are_too_few_to_learn_from() -> None:
    assert "learned words" in shortcuts(random_users(8))
    assert "learned words" not in shortcuts(copied(random_users(7), times=5))


@pytest.mark.slow
def test_a_length_cue_of_six_points_is_crossed_and_none_is_at_most_unproven() -> None:
    marked = shortcuts(random_users(60, change=SHORTCUTS[0][1], share=0.2))
    assert (marked["longest"].accuracy.value or 0) - marked["longest"].random == pytest.approx(0.06, abs=0.025)
    assert "longest" in crossed(marked)
    clean = shortcuts(random_users(60))
    assert {clean[name].verdict for name in ("longest", "learned length")} <= {"holds", "unproven"}


def test_a_limit_on_form_holds_only_where_its_interval_ends_below() -> None:
    lines = shortcuts(random_users(20)).values()
    for line in (one for one in lines if one.verdict in ("holds", "unproven") and one.limit < one.random + 0.03):
        assert line.accuracy.high is not None
        assert (line.verdict == "holds") == (line.accuracy.high <= line.limit)
    strict = scenario.recipe(num_periods=PERIODS - 1, shortcuts=ShortcutPolicy(proven=True))
    unproven = {line.shortcut for line in lines if line.verdict == "unproven"}
    assert unproven
    assert unproven <= crossed(shortcuts(random_users(20), recipe=strict))


def test_the_recipe_sets_the_margins() -> None:
    wide = scenario.recipe(num_periods=PERIODS - 1, shortcuts=ShortcutPolicy(margin=0.9, form_margin=0.9, least_change=0.01))
    assert crossed(shortcuts(random_users(20, change=moved), recipe=wide)) == set()


def test_margins_make_no_user_anew() -> None:
    other = varied(RECIPE, shortcuts=ShortcutPolicy(margin=0.2))
    assert (other.item_fingerprint == RECIPE.item_fingerprint, other.fingerprint == RECIPE.fingerprint) == (True, False)


def test_texts_without_spaces_are_compared_by_character() -> None:
    def asked_in_chinese(one: EpisodeQuestion) -> EpisodeQuestion:
        texts = {choice.choice_id: f"每天走路{choice.choice_id[-1]}" for choice in one.answer_choices}
        texts[favourite(one)] = "早上几点出门最好"
        changed = tuple(varied(choice, answer=texts[choice.choice_id]) for choice in one.answer_choices)
        return varied(one, query="我应该早上几点出门", answer_choices=changed)

    assert "like the question" in crossed(shortcuts(random_users(20, change=asked_in_chinese)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_places_share_all_right_answers_and_no_cue_beats_the_best_fixed_choice(seed: int) -> None:
    lines = shortcuts(random_users(2, seed=seed))
    assert sum(lines[f"place {place + 1}"].accuracy.value or 0.0 for place in range(OPTIONS)) == pytest.approx(1, abs=1e-5)
    best = lines["best fixed choice"].accuracy.value or 0.0
    assert all((line.accuracy.value or 0.0) <= best + 1e-6 for line in lines.values())
