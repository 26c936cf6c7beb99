"""The coefficients give what their authors published, to 1e-9 of the exact fractions behind the printed digits."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.reporting.intervals import Sums
from pipelines.experiments.annotation.agreement import Rated, ac1, raw_agreement, tally

EXACT = 1e-9
Rows = Sequence[Sequence[object]]
# Gwet, `cac.raw4raters` of irrCAC for R.
FOUR_RATERS: Rows = ("123321412...", "1233224125..", ".33323422513", "12332441251.")
# Gwet, `cont3x3abstractors` of the same package: two abstractors, one hundred patients, three kinds of pregnancy.
ABSTRACTORS = ((13, 0, 0), (0, 20, 7), (0, 4, 56))
# A table with the paradox that AC1 was made for, in Gwet (2002): 118 of 125 agree, and kappa is below zero.
PARADOX = ((118, 5), (2, 0))


def summed(rows: Rows) -> tuple[Sums, list[str]]:
    items = [Rated("u", tuple(str(label) for label in unit if label != ".")) for unit in zip(*rows, strict=True)]
    categories = sorted({label for item in items for label in item.labels})
    return tally(items, categories=categories).total(), categories


def ac1_of(rows: Rows) -> float:
    sums, categories = summed(rows)
    return float(ac1(categories)(sums))


def table(counts: Sequence[Sequence[int]]) -> Rows:
    pairs = [(row, column) for row, line in enumerate(counts) for column, count in enumerate(line) for _ in range(count)]
    return [[pair[side] for pair in pairs] for side in (0, 1)]


def by_gwet(agreed: Fraction, shares: Sequence[Fraction]) -> Fraction:
    by_chance = sum((share * (1 - share) for share in shares), Fraction(0)) / (len(shares) - 1)
    return (agreed - by_chance) / (1 - by_chance)


def test_ac1_of_gwets_four_raters_with_missing_labels() -> None:
    exact = by_gwet(Fraction(9, 11), [Fraction(part, 48) for part in (12, 13, 14, 5, 4)])
    assert ac1_of(FOUR_RATERS) == pytest.approx(float(exact), abs=EXACT)
    assert round(ac1_of(FOUR_RATERS), 5) == 0.77544
    assert float(raw_agreement(summed(FOUR_RATERS)[0])) == pytest.approx(9 / 11, abs=EXACT)


def test_ac1_of_gwets_abstractors() -> None:
    shares = [Fraction(part, 200) for part in (26, 51, 123)]
    rows = table(ABSTRACTORS)
    assert ac1_of(rows) == pytest.approx(float(by_gwet(Fraction(89, 100), shares)), abs=EXACT)
    assert round(ac1_of(rows), 7) == 0.8493305


def test_ac1_stands_where_kappa_falls_below_zero() -> None:
    exact = by_gwet(Fraction(118, 125), [Fraction(243, 250), Fraction(7, 250)])
    assert ac1_of(table(PARADOX)) == pytest.approx(float(exact), abs=EXACT)
    assert round(ac1_of(table(PARADOX)), 4) == 0.9408


def test_where_nothing_differs_ac1_is_one() -> None:
    items = [Rated(user, ("2", "2")) for user in ("ann", "ben")]
    tallies = tally(items, categories=["0", "1", "2"])
    assert tallies.estimate(ac1(["0", "1", "2"])).value == 1


def test_intervals_are_taken_over_users_and_not_over_items() -> None:
    alike = [Rated(user, ("1", "1") if user < "d" else ("1", "0")) for user in "abcdef" for _ in range(50)]
    estimate = tally(alike, categories=["0", "1"]).estimate(raw_agreement)
    assert estimate.value == 0.5
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.high - estimate.low > 0.7


@given(st.lists(st.tuples(*[st.sampled_from("012")] * 3), min_size=2, max_size=12), st.permutations(["0", "1", "2"]))
def test_nominal_coefficients_do_not_depend_on_the_names_of_labels_or_annotators(
    rows: list[tuple[str, str, str]], names: list[str]
) -> None:
    renamed = dict(zip("012", names, strict=True))
    one = tally([Rated("u", row) for row in rows], categories="012").total()
    other = tally([Rated("u", tuple(renamed[label] for label in reversed(row))) for row in rows], categories="012").total()
    for metric in (raw_agreement, ac1("012")):
        assert float(metric(one)) == pytest.approx(float(metric(other)), abs=EXACT, nan_ok=True)
