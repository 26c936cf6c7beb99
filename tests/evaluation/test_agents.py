"""A whole agent, with a reasoner of its own: it is lived with, observed after a break, forked, and has no isolated score."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.run import Run
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.support.waiting import LONG

AGENT = """
class Agent:
    def __init__(self): self.heard = []
    def respond(self, message, *, at):
        self.heard.append(message)
        return "Noted."
    def observe(self, message, reply, *, at): self.heard.append(message)
    def answer(self, question): return '{"answer": 1}' if "<choices>" in question else "I have heard %d." % len(self.heard)
    def fork(self):
        copy = Agent()
        copy.heard = list(self.heard)
        return copy
"""


def agents_run(folder: Path, model: HonestModel, code: str = AGENT) -> Run:
    """A run of the agent on one user."""
    path = folder / "agent.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    spec = find_memory(f"{path}:Agent").model_copy(update={"whole": True})
    return replace(run_of(folder, model, data=tasks("ada"), spec=spec), deadline=LONG)


def heard(finished: FinishedRun) -> list[str]:
    """What the agent said of its memory, by period."""
    return list(dict.fromkeys(row.reply for row in finished.answers if row.kind == "state"))


def test_an_agent_answers_by_itself_and_has_no_isolated_score(tmp_path: Path) -> None:
    finished = finish(agents_run(tmp_path, HonestModel()))

    assert finished.results.errors == ()
    assert finished.results.isolated is None
    assert {row.reply for row in finished.answers if row.kind == "question"} == {'{"answer": 1}'}
    assert heard(finished) == ["I have heard 2.", "I have heard 4.", "I have heard 6."]
    assert {row.kind for row in finished.answers} == {"question", "state", "upper_bound", "options_only"}


def test_an_agent_observes_what_it_lived_before_a_break(tmp_path: Path) -> None:
    counting = HonestModel()
    whole = finish(agents_run(tmp_path / "whole", counting))
    model = HonestModel(calls_left=len(counting.requests) - 1)
    broken = agents_run(tmp_path / "broken", model)
    with pytest.raises(EndpointError):
        finish(broken)
    model.calls_left = 1000

    assert heard(finish(broken)) == heard(whole)


def test_an_agent_without_one_of_its_methods_is_told_which_and_its_process_ends(tmp_path: Path) -> None:
    before = threading.enumerate()
    finished = finish(agents_run(tmp_path, HonestModel(), AGENT.replace("def observe", "def overhear")))

    assert "has no method 'observe'" in finished.results.errors[0].sentence
    for thread in threading.enumerate():
        if thread.name == "memory-answers" and thread not in before:
            thread.join(LONG)
            assert not thread.is_alive(), "the agent's process runs on"
