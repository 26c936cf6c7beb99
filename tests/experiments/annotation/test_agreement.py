"""The coefficients give what their authors published, to 1e-9 of the exact fractions behind the printed digits."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.records.annotation import Level
from assets.reporting.intervals import Sample, Sums
from pipelines.experiments.annotation.agreement import Rated, ac1, alpha, raw_agreement, tally

EXACT = 1e-9
Rows = Sequence[Sequence[object]]
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": the data of its examples A, B and C, a row per observer.
BINARY: Rows = ("0100000010", "1110010000")
NOMINAL: Rows = ("aabbdcccedda", "babbbccceddd")
MISSING: Rows = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# Gwet, `cac.raw4raters` of irrCAC for R: the same data, but for who gave the last unit its only label.
FOUR_RATERS: Rows = ("123321412...", "1233224125..", ".33323422513", "12332441251.")
# Gwet, `cont3x3abstractors` of the same package: two abstractors, one hundred patients, three kinds of pregnancy.
ABSTRACTORS = ((13, 0, 0), (0, 20, 7), (0, 4, 56))
# A table with the paradox that AC1 was made for, in Gwet (2002): 118 of 125 agree, and kappa is below zero.
PARADOX = ((118, 5), (2, 0))


def summed(rows: Rows) -> tuple[Sums, list[str]]:
    items = [Rated("u", tuple(str(label) for label in unit if label != ".")) for unit in zip(*rows, strict=True)]
    categories = sorted({label for item in items for label in item.labels})
    return tally(items, categories=categories).total(), categories


def alpha_of(rows: Rows, level: Level = "nominal") -> float:
    sums, categories = summed(rows)
    return float(alpha(categories, level=level)(sums))


def ac1_of(rows: Rows) -> float:
    sums, categories = summed(rows)
    return float(ac1(categories)(sums))


def table(counts: Sequence[Sequence[int]]) -> Rows:
    pairs = [(row, column) for row, line in enumerate(counts) for column, count in enumerate(line) for _ in range(count)]
    return [[pair[side] for pair in pairs] for side in (0, 1)]


def by_gwet(agreed: Fraction, shares: Sequence[Fraction]) -> Fraction:
    by_chance = sum((share * (1 - share) for share in shares), Fraction(0)) / (len(shares) - 1)
    return (agreed - by_chance) / (1 - by_chance)


@pytest.mark.parametrize(
    ("rows", "exact", "printed"),
    [(BINARY, Fraction(2, 21), 0.095), (NOMINAL, Fraction(155, 224), 0.692), (MISSING, Fraction(113, 152), 0.743)],
)
def test_alpha_of_krippendorffs_examples(rows: Rows, exact: Fraction, printed: float) -> None:
    assert alpha_of(rows) == pytest.approx(float(exact), abs=EXACT)
    assert round(alpha_of(rows), 3) == printed


def test_alpha_of_krippendorffs_example_as_ordinal_data() -> None:
    # Printed as 0.815; further digits from the package krippendorff 0.9.0.
    assert alpha_of(MISSING, "ordinal") == pytest.approx(0.8153875037548814, abs=EXACT)


def test_ac1_of_gwets_four_raters_with_missing_labels() -> None:
    exact = by_gwet(Fraction(9, 11), [Fraction(part, 48) for part in (12, 13, 14, 5, 4)])
    assert ac1_of(FOUR_RATERS) == pytest.approx(float(exact), abs=EXACT)
    assert round(ac1_of(FOUR_RATERS), 5) == 0.77544
    assert float(raw_agreement(summed(FOUR_RATERS)[0])) == pytest.approx(9 / 11, abs=EXACT)


def test_ac1_and_alpha_of_gwets_abstractors() -> None:
    shares = [Fraction(part, 200) for part in (26, 51, 123)]
    rows = table(ABSTRACTORS)
    assert ac1_of(rows) == pytest.approx(float(by_gwet(Fraction(89, 100), shares)), abs=EXACT)
    assert (round(ac1_of(rows), 7), round(alpha_of(rows), 7)) == (0.8493305, 0.7972585)
    assert alpha_of(rows) == pytest.approx(float(1 - Fraction(199 * 22, 200**2 - 26**2 - 51**2 - 123**2)), abs=EXACT)


def test_ac1_stands_where_kappa_falls_below_zero() -> None:
    exact = by_gwet(Fraction(118, 125), [Fraction(243, 250), Fraction(7, 250)])
    assert ac1_of(table(PARADOX)) == pytest.approx(float(exact), abs=EXACT)
    assert round(ac1_of(table(PARADOX)), 4) == 0.9408


def test_where_nothing_differs_ac1_is_one_and_alpha_does_not_exist() -> None:
    items = [Rated(user, ("2", "2")) for user in ("ann", "ben")]
    sample = Sample.of(tally(items, categories=["0", "1", "2"]), seed=1)
    assert sample.estimate(ac1(["0", "1", "2"])).value == 1
    assert sample.estimate(alpha(["0", "1", "2"], level="ordinal")).value is None


def test_intervals_are_taken_over_users_and_not_over_items() -> None:
    alike = [Rated(user, ("1", "1") if user < "d" else ("1", "0")) for user in "abcdef" for _ in range(50)]
    estimate = Sample.of(tally(alike, categories=["0", "1"]), seed=1).estimate(raw_agreement)
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
    for metric in (raw_agreement, ac1("012"), alpha("012", level="nominal")):
        assert float(metric(one)) == pytest.approx(float(metric(other)), abs=EXACT, nan_ok=True)
