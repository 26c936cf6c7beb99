"""The bound that `make bench` holds a run's time against: what no schedule of the same calls can beat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.runs import least_seconds

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1)


def test_a_call_that_all_others_wait_for_leaves_the_other_slots_empty_while_it_lasts() -> None:
    calls = [(1.0, 5.0), *[(5.0, 6.0)] * 8]
    assert least_seconds(calls, seconds=8.0, work=12.0, slots=4) == pytest.approx(5 + 8 / 4 + 2)


@given(SPANS, st.integers(1, 8))
def test_it_is_never_below_the_critical_path_nor_below_the_work_shared_by_all_slots(
    spans: list[tuple[int, int]], slots: int
) -> None:
    calls, end = [(float(start), float(stop)) for start, stop in spans], float(max(stop for _, stop in spans))
    work = sum(stop - start for start, stop in calls)
    least = least_seconds(calls, seconds=end, work=work, slots=slots)
    assert least >= max(end, work / slots) - 1e-9
    assert least <= end + work / slots + 1e-9
