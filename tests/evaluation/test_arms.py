"""Controls in the memory's place: chance texts, stale ones, another user's, and the facts among others."""

from pathlib import Path

import pytest

from assets.text.words import count_tokens
from pipelines.errors import EvaluationError
from pipelines.evaluation.arms import TextsAtHand
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

FACTS = ["fact one", "fact two"]
OTHERS = [f"something else {number}" for number in range(20)]
EVERYTHING = [*OTHERS[:5], FACTS[0], *OTHERS[5:9], FACTS[1], *OTHERS[9:]]
TEXTS = TextsAtHand(FACTS, EVERYTHING, others=OTHERS, stale=["old fact"], another=["her fact"], path=(7, "ada"))


def tokens_of(texts: list[str]) -> int:
    return sum(map(count_tokens, texts))


def in_order(texts: list[str]) -> bool:
    places = [EVERYTHING.index(text) for text in texts]
    return places == sorted(places)


def test_a_placebo_is_as_long_as_what_was_recalled_and_holds_no_needed_fact() -> None:
    placebo = TEXTS.of_arm("placebo", tokens=30)
    assert 30 - max(map(count_tokens, OTHERS)) < tokens_of(placebo) <= 30
    assert not set(placebo) & set(FACTS)
    assert in_order(placebo)
    assert placebo != OTHERS[: len(placebo)]  # drawn by chance, not the first ones


def test_noise_holds_every_fact_in_its_place_among_others_even_where_little_was_recalled() -> None:
    for tokens in (0, 60):
        noise = TEXTS.of_arm("noise", tokens=tokens)
        assert set(FACTS) < set(noise)
        assert in_order(noise)
    assert TEXTS.of_arm("stale", tokens=60) == ["old fact"]
    assert TEXTS.of_arm("another", tokens=60) == ["her fact"]


def test_what_is_drawn_follows_from_seed_and_question() -> None:
    again = TextsAtHand(FACTS, EVERYTHING, others=OTHERS, path=(7, "ada"))
    elsewhere = TextsAtHand(FACTS, EVERYTHING, others=OTHERS, path=(7, "ben"))
    drawn = [one.of_arm("placebo", tokens=30) for one in (TEXTS, again, elsewhere)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_run_with_arms_scores_each_beside_no_memory_and_says_what_harm_it_does(tmp_path: Path) -> None:
    memory = find_memory("full-history")
    run = finish(run_of(tmp_path, HonestModel(), spec=memory, arms=True, probes="none", baselines=False))
    scores = {one.name: one for one in run.results.arms}
    assert list(scores) == ["memory", "placebo", "stale", "another", "noise"]
    assert (scores["memory"].right.value, scores["memory"].harm.value) == (1.0, 0.0)
    assert (scores["memory"].gave.value, scores["memory"].changed.value) == (1.0, scores["memory"].gain.value)
    assert scores["noise"].right.value == 1.0
    assert scores["stale"].right.value == 0.0  # a reasoner that believes what it reads
    assert scores["stale"].items < scores["memory"].items  # some values never changed
    for score in scores.values():
        assert score.harm.value is not None
        assert score.gain.value is not None
        assert score.harm.value >= -score.gain.value - 1e-9


def test_arms_without_the_condition_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="arms compare with no memory"):
        run_of(tmp_path, HonestModel(), spec=find_memory("full-history"), arms=True, conditions=("facts",))
