"""Draws follow from their path alone, forever."""

from hypothesis import given
from hypothesis import strategies as st

from assets.engine.seeded_random import SeededRandom


def test_draws_never_change_from_version_to_version() -> None:
    rng = SeededRandom(42, "u", "stage")
    assert [rng.integer_below(1000) for _ in range(4)] == [906, 288, 224, 523]
    assert SeededRandom(42, "u", "stage").shuffled("abcdef") == list("bfcade")


def test_a_sample_of_many_items_takes_one_draw_for_each_item_wanted() -> None:
    sampling, drawing = SeededRandom(42, "u"), SeededRandom(42, "u")
    assert sampling.sample(range(1000), 3)[0] == drawing.integer_below(1000)
    for limit in (999, 998):
        drawing.integer_below(limit)
    assert sampling.integer_below(10**9) == drawing.integer_below(10**9)


def test_equal_paths_draw_alike_and_others_do_not() -> None:
    def draws(*path: object) -> list[int]:
        rng = SeededRandom(*path)
        return [rng.integer_below(10**9) for _ in range(3)]

    assert draws(42, "u", "stage") == draws(42, "u", "stage")
    others = [draws(43, "u", "stage"), draws(42, "v", "stage"), draws(42, "u", "stage", 0), draws(42, "ust", "age")]
    assert len({tuple(found) for found in [draws(42, "u", "stage"), *others]}) == 5


@given(st.lists(st.integers(), max_size=30), st.integers())
def test_shuffling_keeps_every_item(items: list[int], seed: int) -> None:
    assert sorted(SeededRandom(seed).shuffled(items)) == sorted(items)


@given(st.sets(st.integers(), max_size=20), st.integers(0, 25), st.integers())
def test_a_sample_holds_different_items_and_no_more_than_there_are(items: set[int], count: int, seed: int) -> None:
    found = SeededRandom(seed).sample(sorted(items), count)
    assert len(found) == len(set(found)) == min(count, len(items))
    assert set(found) <= items


@given(st.integers(1, 10), st.integers())
def test_a_draw_stays_below_its_limit(limit: int, seed: int) -> None:
    assert 0 <= SeededRandom(seed).integer_below(limit) < limit


def test_every_order_of_three_items_comes_up_about_equally_often() -> None:
    orders = ["".join(SeededRandom(seed).shuffled("abc")) for seed in range(1200)]
    assert {order: 150 < orders.count(order) < 250 for order in orders} == dict.fromkeys(orders, True)
    assert len(set(orders)) == 6


def test_an_event_happens_as_often_as_its_probability_says() -> None:
    rng = SeededRandom(1)
    assert 220 < sum(rng.bernoulli(0.25) for _ in range(1000)) < 280
    assert not rng.bernoulli(0)
    assert rng.bernoulli(1)
