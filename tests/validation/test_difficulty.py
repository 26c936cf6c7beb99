"""Figures of difficulty say what a part of the needed values, of the calendar or of the texts is worth without memory."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest

from assets.amemgym.records.episode import EpisodeQuestion, options_left
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.records.report import DifficultyLine
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.estimate import Estimate
from assets.text.bm25 import rank_texts, searched_words
from tests.support import scenario
from validation.amemgym.shortcuts.difficulty import (
    DifficultyCounter,
    ToldMessage,
    chance_by_reading,
    messages_of,
    option_figures,
    places_of_needed,
    read_messages,
    text_figures,
)


def lines(recipe: AMemGymRecipe, *, users: int = 1) -> dict[str, DifficultyLine]:
    counter = DifficultyCounter(recipe)
    for number in range(users):
        counter.add(scenario.episode().model_copy(update={"user_id": f"u{number}"}))
    return {line.figure: line for line in counter.lines()}


def question_on(states: Sequence[tuple[str, ...]], query: str = "How do I get there?") -> EpisodeQuestion:
    names = tuple("abc"[: len(states[0])])
    options = tuple(
        AnswerChoice(choice_id="".join(state), state=state, answer=f"Go {state}.", type="random") for state in states
    )
    return EpisodeQuestion(question_id="q01", query=query, required_info=names, answer_choices=options, golden=("xx",))


def message(text: str, **told: str) -> ToldMessage:
    return ToldMessage(0, told, Counter(searched_words(text)), 10)


def test_one_of_two_values_leaves_a_guess_among_the_options_that_share_it() -> None:
    question = question_on([("x", "x"), ("x", "y"), ("x", "z"), ("y", "x")])
    figures = dict(option_figures(question, {"a": "x", "b": "x"}))
    assert figures["one value"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert figures["singled out"] == 0
    assert dict(option_figures(question, {"a": "x", "b": "y"}))["singled out"] == 1
    assert figures["most shared"] == 1 - 1 / 4
    assert "all but one value" not in figures


def test_in_all_combinations_of_two_values_no_counting_of_values_helps() -> None:
    question = question_on(list(product("xy", repeat=3)))
    figures = dict(option_figures(question, {"a": "x", "b": "y", "c": "x"}))
    assert figures == {
        "one value": 1 / 4,
        "all but one value": 1 / 2,
        "singled out": 0,
        "most shared": 0,
        "fewest shared": 0,
    }


def test_a_window_is_worth_what_its_sessions_tell() -> None:
    one = scenario.episode()
    assert [options_left(one, question) for question in one.questions] == [[1, 1, 3], [1, 2, 1]]
    found = lines(scenario.recipe())
    assert found["present period"].value.value == pytest.approx((2 + 1 / 3 + 2 + 1 / 2) / 6, abs=1e-6)
    assert found["last 2 periods"].value.value == 1
    assert "last 3 periods" not in found, "these are all periods"


def test_readers_take_the_newest_messages_or_those_that_share_words_until_the_next_does_not_fit() -> None:
    texts = ("the bus I take", "nothing here", "the bus and how I get there", "late news")
    messages = [message(text) for text in texts]
    ranked = list(rank_texts([one.words for one in messages], "How do I get there by bus?"))
    assert ranked == [2, 0]
    assert read_messages("newest", ranked, messages, share=0.5) == [2, 3]
    assert read_messages("search", ranked, messages, share=0.5) == [0, 2]
    assert read_messages("both", ranked, messages, share=0.5) == [2, 3]
    assert read_messages("newest", ranked, messages, share=0.24) == []


def test_an_outdated_message_that_is_read_alone_makes_a_reader_wrong() -> None:
    question = question_on(list(product("xy", repeat=2)))
    messages = [message("how I get there", a="y", b="x"), message("no more of that", a="x")]
    assert places_of_needed(question, messages) == {"a": 1, "b": 0}
    assert chance_by_reading(question, "xx", messages, [0]) == 0
    assert chance_by_reading(question, "xx", messages, [1]) == 1 / 2
    assert chance_by_reading(question, "xx", messages, [0, 1]) == 1


def test_needed_messages_without_the_questions_words_and_rivals_above_them_are_counted() -> None:
    question = question_on(list(product("xy", repeat=2)))
    messages = [message("how I get there", a="y"), message("the bike", b="x"), message("no more of that", a="x")]
    found: list[tuple[str, float]] = list(
        text_figures(question, 0, messages, state={"a": "x", "b": "x"}, common=frozenset({"i", "how", "do"}))
    )
    assert [value for title, value in found if title == "no word in common"] == [1, 1]
    assert dict(found)["rival first"] == 1
    assert dict(found)["right for none"] == 1


def test_limits_hold_for_recipes_with_balanced_options_and_five_users_show_nothing() -> None:
    told = lines(scenario.recipe())["one value"]
    assert (told.value.value, told.limit, told.is_crossed) == (pytest.approx(5 / 6, abs=1e-6), None, False)
    balanced = scenario.recipe(balanced_options=7)
    for users, is_crossed in ((5, False), (6, True)):
        bound = lines(balanced, users=users)["one value"]
        assert (bound.limit, bound.is_crossed) == (0.4, is_crossed)


def test_a_limit_is_crossed_where_the_whole_interval_is_beyond_it() -> None:
    for low, is_crossed in ((0.0, False), (0.006, True)):
        value = Estimate(value=0.01, low=low, high=0.03)
        line = DifficultyLine(figure="most shared", meaning="gain", users=20, pairs=48, value=value, limit=0.005)
        assert line.is_crossed == is_crossed


def test_messages_stand_in_order_with_what_they_tell() -> None:
    assert [one.period for one in messages_of(scenario.episode())] == [0, 0, 1, 2]
