"""Code repairs as they are made: the fault is found by running, and only the settled patch passes the hidden calls."""

import pytest

from assets.code_repair.copy import EDIT, READ, RUN, SEARCH, PackageCopy, repair_by_program
from assets.code_repair.issue import read_issue
from assets.memory_items.acting import GUESS, IDLE, SUPERSEDED
from assets.memory_items.final_ablation import uncertified
from tests.support.applied_rules import apply_rules
from tests.support.code_repairs import made_repair, repair_recipe
from validation.code_repair.benchmark import CODE_REPAIR_VALIDATION

RULES = CODE_REPAIR_VALIDATION.rules


def copy() -> PackageCopy:
    return PackageCopy(made_repair().instance)


def test_each_condition_of_a_certificate_was_acted_and_came_out_as_it_must() -> None:
    (certificate,) = made_repair().certificates.certificates
    right = {one.condition: (one.right, one.readings) for one in certificate.outcomes}
    assert right.pop(GUESS) == (int(made_repair().instance.repair.settled == 0), 1)
    assert right == {
        IDLE: (0, 2),
        "none": (0, 2),
        "facts": (2, 2),
        "without hop 1": (0, 2),
        "filler only": (0, 2),
        "last turn only": (0, 2),
        SUPERSEDED: (0, 2),
    }
    assert list(uncertified(made_repair().instance)) == []


def test_a_program_reads_the_issue_as_it_was_meant() -> None:
    repair = made_repair().instance.repair
    issue = read_issue(made_repair().instance.question)
    assert issue is not None
    assert (issue.function, issue.path, issue.call) == (repair.function, repair.path, repair.call)
    assert list(issue.patches) == [(patch.old, patch.new) for patch in repair.patches]


def test_the_failing_call_fails_as_the_issue_says_and_is_repaired_by_the_settled_patch() -> None:
    repair = made_repair().instance.repair
    world = copy()
    assert repair.fails_with in world.call(RUN, {"call": repair.call})
    repair_by_program(world, repair.rule)
    assert world.call(RUN, {"call": repair.call}) == repair.rule
    assert world.failed_by == ""


def test_the_other_patch_fails_and_is_told_by_what_it_makes_hold() -> None:
    other = made_repair().instance.repair.patches[1 - made_repair().instance.repair.settled]
    world = copy()
    repair_by_program(world, other.rule)
    assert world.failed_by.endswith("does not hold")
    assert world.written == other.rule


def test_what_cannot_be_done_is_refused_in_a_sentence_and_changes_nothing() -> None:
    world = copy()
    path = made_repair().instance.repair.path
    before = dict(world.texts)
    refused = [
        world.call(EDIT, {"path": "../../etc/passwd", "old": "root", "new": "x"}),
        world.call(EDIT, {"path": path, "old": "there is no such line", "new": "x"}),
        world.call(EDIT, {"path": path, "old": "return", "new": "x"}),
        world.call(EDIT, {"path": path, "old": made_repair().instance.repair.patches[0].old, "new": "("}),
        world.call(EDIT, {"path": path}),
        world.call(READ, {"path": path, "line": "0"}),
        world.call(RUN, {"call": "__import__('os').system('ls')"}),
        world.call(RUN, {"call": "import os"}),
        world.call("delete", {}),
    ]
    assert [reply for reply in refused if not reply.startswith("Refused: ")] == []
    assert world.texts == before
    assert world.failed_by == "nothing was edited"


def test_endless_loops_and_megabytes_are_told_in_a_sentence() -> None:
    repair = made_repair().instance.repair
    name = repair.function.rpartition(".")[2]
    body = next(line for line in copy().call(READ, {"path": repair.path}).split("\n") if line.startswith("import "))
    endings: dict[str, str] = {}
    for label, statement in (("loop", "while True: pass"), ("output", "return 'x' * 5_000_000")):
        world = copy()
        world.call(EDIT, {"path": repair.path, "old": body, "new": f"{body}\ndef spin(n):\n    {statement}"})
        endings[label] = world.call(RUN, {"call": f"{repair.function.removesuffix(name)}spin(1)"})
        assert len(world.call(SEARCH, {"text": "e"})) < 10_000
    assert endings == {
        "loop": "It ran too long and was ended.",
        "output": "It returns a result that is too long to be shown.",
    }


@pytest.mark.parametrize("stage", RULES)
def test_nothing_is_wrong_with_a_repair_as_it_was_made(stage: str) -> None:
    records = made_repair().records
    outcomes = apply_rules(RULES[stage], list(records[stage].values()), recipe=repair_recipe(), others=records)
    assert [outcome.rule.name for outcome in outcomes if not outcome.passed] == []
