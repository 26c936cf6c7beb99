"""Features of a recall: each says what its formula says, and none can see what a model must not learn from."""

import math
from pathlib import Path

import pytest

from pipelines.reward.features import FEATURES, Recall, WrittenTexts, features_of

EVENTS = WrittenTexts(
    [
        "Ada keeps her boat Quill in the harbour of Brest since 2019.",
        "The weather was fine and nobody went out.",
        "Ben reads novels about lighthouses in the evening.",
        "Ada moved her boat Quill to the harbour of Lorient in 2023.",
    ]
)
QUERY = "In which harbour is the boat of Ada?"
OLD, NEW = EVENTS.texts[0], EVENTS.texts[3]


def features(*texts: str, written: int = 4, budget: int = 100) -> dict[str, float]:
    return features_of(Recall(QUERY, texts, budget, EVENTS, written))


def test_what_is_told_and_kept_of_the_nearest_events_is_seen() -> None:
    both, old, nothing = features(OLD, NEW), features(OLD), features()
    assert both["nearest_told"] == 1.0
    assert (old["nearest_told"], old["newest_told"]) == (0.5, 0.0)
    assert (both["newest_told"], nothing["newest_told"]) == (1.0, 0.0)
    assert both["numbers_kept"] == 1.0
    assert old["numbers_kept"] == 0.5
    assert nothing["rare_words_kept"] == nothing["best_text"] == nothing["filled"] == 0.0


def test_an_old_value_without_the_new_one_is_a_stale_twin() -> None:
    assert features(OLD)["stale_twins"] == 1.0
    assert features(OLD, NEW)["stale_twins"] == 0.0
    assert features(NEW)["stale_twins"] == 0.0
    # What had not been written yet cannot be missing.
    assert features(OLD, written=3)["stale_twins"] == 0.0


def test_order_redundancy_and_contradiction_are_of_the_recalled_texts() -> None:
    assert features(OLD, NEW)["order"] == 1.0
    assert features(NEW, OLD)["order"] == 0.0
    assert features(OLD, OLD)["redundancy"] == 1.0
    assert features(OLD, EVENTS.texts[2])["redundancy"] < 0.2
    assert features(OLD, NEW)["contradiction"] == 1.0
    assert features(OLD, OLD)["contradiction"] == 0.0


@pytest.mark.parametrize("texts", [(), ("",), ("___",), ("\ud83d\ude00" * 3,), ("x" * 10_000,)])
def test_any_text_has_finite_features(texts: tuple[str, ...]) -> None:
    found = features(*texts, budget=100_000)
    assert set(found) == {feature.name for feature in FEATURES}
    assert all(value >= 0 and math.isfinite(value) for value in found.values())


def test_with_nothing_written_and_nothing_asked_there_are_features_too() -> None:
    assert features_of(Recall("", [], 0, WrittenTexts([]), 0)).keys() == features().keys()


def test_the_guide_has_every_feature_with_its_formula() -> None:
    page = Path("pipelines/guide/reward-model.md").read_text(encoding="utf-8")
    lines = [f"| {feature.name.replace('_', ' ')} | {feature.formula} |" for feature in FEATURES]
    assert [line for line in lines if line not in page] == []
