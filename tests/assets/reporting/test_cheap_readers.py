"""Cheap readers keep what their rule says of a history, and a report blocks where one of them finds too much."""

from collections.abc import Mapping, Sequence

import pytest

from assets.recipe.loading import load_recipe
from assets.records.report import MinimalReport
from assets.reporting.cheap_readers import BY_NAMES, BY_TWO_SEARCHES, BY_WORDS, NEEDED, SUMMARY, WINDOW, CheapReaders, History

FILLER = "Rain fell on the harbour all day, and nobody said a word about it."
NEEDED_TEXT = "Ada Moss is served by Olga Novak, who knows the gate."
QUESTION = "Who serves Ada Moss?"


def read(texts: Sequence[str]) -> Mapping[str, Sequence[str]]:
    needed = {texts.index(NEEDED_TEXT): ["Ada Moss", "Olga Novak"]}
    return History(texts).readers_that_find(needed, question=QUESTION, names=["Ada Moss"])


def test_a_text_with_the_questions_words_and_name_is_found_by_both_and_not_in_the_window() -> None:
    found = read([NEEDED_TEXT, *[FILLER] * 30])
    assert found[NEEDED] == ["5 %", "10 %", "20 %"]
    assert found[BY_WORDS] == found[BY_NAMES] == found[NEEDED]
    assert found[WINDOW] == []


def test_the_newest_text_is_in_the_window_and_its_sentence_is_too_rare_for_a_summary() -> None:
    found = read([*[FILLER] * 30, NEEDED_TEXT])
    assert found[WINDOW] == ["5 %", "10 %", "20 %"]
    assert found[SUMMARY] == []


def test_a_name_that_every_text_has_finds_the_newest_alone() -> None:
    texts = [NEEDED_TEXT, *(f"{FILLER} {number}: Ada Moss rang." for number in range(30))]
    assert read(texts)[BY_NAMES] == []


def test_a_name_that_the_first_search_finds_is_searched_for_next() -> None:
    texts = ["The cook at the mill is Ada Moss.", *[FILLER] * 40, "Ada Moss pays in cash.", *[FILLER] * 40]
    needed = {0: ["Ada Moss"], 41: ["cash"]}
    question = "How does the cook at the mill pay?"
    found = History(texts).readers_that_find(needed, question=question, names=[], told_names={0: "Ada Moss"})
    assert found[BY_TWO_SEARCHES] == ["2.5 %", "5 %", "10 %", "20 %"]
    unknown = History(texts).readers_that_find(needed, question="Who pays in cash?", names=[], told_names={0: "Ada Moss"})
    assert unknown[BY_TWO_SEARCHES] == []
    assert BY_TWO_SEARCHES not in History(texts).readers_that_find(needed, question=question, names=[])


def test_a_report_with_a_limit_blocks_what_a_cheap_reader_finds() -> None:
    readers = CheapReaders()
    for _ in range(8):
        readers.add([read([NEEDED_TEXT, *[FILLER] * 30])])
    report = MinimalReport(
        variant="v", noun="task", wanted=8, finished=8, replaced={}, cheap_readers=readers.lines(), max_found_cheaply=0.5
    )
    assert len(report.exceeded_limits) == 2
    assert all("found in 10 % of the history by the question's" in sentence for sentence in report.exceeded_limits)
    assert report.model_copy(update={"max_found_cheaply": 1}).exceeded_limits == ()


def test_needed_texts_that_do_not_fit_are_said() -> None:
    readers = CheapReaders()
    readers.add([read([NEEDED_TEXT, FILLER])])
    report = MinimalReport(
        variant="v", noun="task", wanted=1, finished=1, replaced={}, cheap_readers=readers.lines(), max_found_cheaply=0.5
    )
    assert report.exceeded_limits == ("Needed texts fit into 10 % of the history in only 0.00.",)


@pytest.mark.parametrize("variant", ["dr-base", "code-base", "sessions-base", "tools-base", "base-facts"])
def test_a_base_is_not_released_where_a_cheap_reader_finds_what_is_needed(variant: str) -> None:
    assert load_recipe(variant).model_dump()["max_found_cheaply"] == 0.5
