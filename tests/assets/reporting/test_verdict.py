"""One verdict on a set: what blocks it counts before who wrote it, and that before whether a judge read it."""

import pytest

from assets.reporting.verdict import EMBEDDED_FAMILY, verdict_on
from tests.support.releases import report

EMBEDDED = f"{EMBEDDED_FAMILY}-0123abcd"
WROTE = "No language model wrote these texts"
JUDGED = "No language model judged these texts"
UNREAD = "No judge read the labels"


@pytest.mark.parametrize(
    ("changes", "words", "reasons"),
    [
        ({}, "May be released", []),
        ({"writer": EMBEDDED}, "For trying only", [WROTE]),
        ({"judges": ("large", EMBEDDED)}, "For trying only", [JUDGED]),
        ({"gates": ()}, "Not judged", [UNREAD]),
        ({"gates": (), "judges": (EMBEDDED,)}, "Not judged", [UNREAD]),
        ({"gates": (), "writer": EMBEDDED}, "For trying only", [WROTE, UNREAD]),
        ({"users_wanted": 2, "writer": EMBEDDED}, "Not to be released", ["Only 1 user of 2 is finished", WROTE]),
    ],
)
def test_a_set_has_one_verdict_and_all_its_reasons(changes: dict[str, object], words: str, reasons: list[str]) -> None:
    verdict = verdict_on(report(shortcuts=(), **changes))
    assert verdict.words == words
    assert [reason[: len(start)] for reason, start in zip(verdict.reasons, reasons, strict=True)] == reasons


def test_a_report_that_no_longer_holds_blocks_a_release() -> None:
    assert verdict_on(report(shortcuts=()), stale="Made with another seed.").problems == ("Made with another seed.",)
