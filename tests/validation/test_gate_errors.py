"""How often gates err on decoys: what is counted, and intervals that know how few users there are."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.records.audit import Decoy, UserAudit
from assets.amemgym.records.report import GateErrorRate
from assets.recipe.policies import decoys_per_user
from assets.records.estimate import Estimate
from assets.reporting.statistic import UserShare
from tests.support.small import small_recipe
from validation.amemgym.report.gates import GateErrors, decoys_sentence


def decoy(
    kind: str, *, right: bool, accepted: bool, gate: str = "exposure", readings: int = 1, item: int = 0, place: int = 0
) -> Decoy:
    return Decoy(
        gate=gate,
        item=item,
        place=place,
        item_id="s00-01",
        kind=kind,
        text="Hi",
        label={},
        right=right,
        accepted=accepted,
        readings={gate: readings},
        first_readings={gate: accepted},
    )


def rates_of(*audits: UserAudit) -> list[GateErrorRate]:
    errors = GateErrors()
    for audit in audits:
        errors.add(audit)
    return list(errors.rates())


def test_a_gate_errs_by_accepting_a_wrong_label_and_by_refusing_a_right_one() -> None:
    first = UserAudit(
        user_id="a",
        decoys=(
            decoy("old_value", right=False, accepted=True, readings=2),
            decoy("other_value", right=False, accepted=False, place=1),
            decoy("accepted", right=True, accepted=True, readings=2, item=1),
        ),
    )
    second = UserAudit(
        user_id="b",
        decoys=(
            decoy("old_value", right=False, accepted=False),
            decoy("accepted", right=True, accepted=False, item=1),
            decoy("nearest_variant", right=False, accepted=False, gate="recovery"),
        ),
    )
    told = {(line.gate, line.error, line.kind): line for line in rates_of(first, second)}
    assert {key: (line.errors, line.decoys, line.readings) for key, line in told.items()} == {
        ("exposure", "false_accept", ""): (1, 2, 4),
        ("exposure", "false_accept", "old_value"): (1, 2, 3),
        ("exposure", "false_accept", "other_value"): (0, 1, 1),
        ("exposure", "false_reject", ""): (1, 2, 3),
        ("exposure", "false_reject", "accepted"): (1, 2, 3),
        ("recovery", "false_accept", ""): (0, 1, 1),
        ("recovery", "false_accept", "nearest_variant"): (0, 1, 1),
    }
    assert told["exposure", "false_accept", "old_value"].share.value == 0.5


def test_an_item_is_falsely_accepted_when_any_of_its_texts_is() -> None:
    texts = [decoy("old_value", right=False, accepted=place == 7, place=place) for place in range(8)]
    whole, kind = rates_of(UserAudit(user_id="a", decoys=tuple(texts)))
    assert whole.errors == 1
    assert whole.decoys == 1
    assert kind.errors == 1
    assert kind.decoys == 8


def test_first_readings_are_counted_by_gate() -> None:
    errors = GateErrors()
    decoys = (decoy("old_value", right=False, accepted=True, readings=2), decoy("accepted", right=True, accepted=False, item=1))
    errors.add(UserAudit(user_id="a", decoys=decoys))
    told = [(line.gate, line.error, line.errors, line.readings) for line in errors.of_readings()]
    assert told == [("exposure", "false_accept", 1, 1), ("exposure", "false_reject", 1, 1)]


def bound_of_none(users: int, decoys: int) -> float:
    """The upper end of the rate of wrong items when none of so many a user was accepted."""
    high = UserShare(users, items=users * decoys, items_squared=users * decoys**2).estimate().high
    assert high is not None
    return high


@pytest.mark.parametrize("users", [*range(10, 80), 200, 10_000])
def test_decoys_are_the_fewest_a_user_that_can_show_a_twentieth_from_ten_users_on(users: int) -> None:
    decoys = decoys_per_user(users)
    assert bound_of_none(users, decoys) <= 0.05
    assert decoys == 1 or bound_of_none(users, decoys - 1) > 0.05


def test_small_variants_say_how_little_their_decoys_show() -> None:
    def told(users: int, **audit: object) -> str:
        return decoys_sentence(small_recipe(num_users=users, audit=audit)).replace("\N{NO-BREAK SPACE}", " ")

    assert "10 wrong items at every gate, 60 in all: if none is accepted, that shows a rate below 9.9 %" in told(6)
    assert "1 wrong item at every gate; fewer than 6 users cannot show how often" in told(3, decoys=1)
    assert told(5) == ""
    assert "2 wrong items at every gate; fewer" in told(3, decoys=2)
    assert told(3, decoys=0) == told(3, enabled=False) == ""


def share_of(users: Iterable[list[bool]]) -> Estimate:
    """The share of hits of users with these outcomes."""
    share = UserShare()
    for hits in users:
        share.add(sum(hits), len(hits))
    return share.estimate()


def test_outcomes_that_come_in_whole_users_are_worth_one_each() -> None:
    together = share_of([user < 5] * 6 for user in range(20))
    single = share_of([user < 5] for user in range(20))
    spread = share_of([user % 4 == item % 4 for item in range(8)] for user in range(20))
    assert together.low is not None
    assert single.low is not None
    assert spread.low is not None
    assert together.low == pytest.approx(single.low, abs=0.01)
    assert spread.low > together.low


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=6, max_size=9))
def test_an_interval_holds_its_share_and_stays_a_share(users: list[list[bool]]) -> None:
    share = share_of(users)
    assert share.value is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= share.value <= share.high <= 1
