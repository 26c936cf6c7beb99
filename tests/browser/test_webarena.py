"""Applications of WebArena-Infinity's form in a real browser: episodes, their grades, and what such pages can do wrong."""

import json
import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from assets.worlds.tools import REFUSED
from pipelines.agents import browser_page, webarena_world
from pipelines.agents.webarena_world import ApplicationInBrowser
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.webarena import read_webarena_tasks
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.support.commands import amemgym_here
from tests.support.web_application import PAGE, verifier_of, write_application

pytestmark = pytest.mark.browser
DONE = "import requests\n\n\ndef verify(server_url):\n    return True, 'always'\n"
GONE = "import os\n\n\ndef verify(server_url):\n    os._exit(0)\n"


@dataclass
class Gardener:
    """A model that waters one plant wherever it sees it dry, and then finishes."""

    plant: str

    async def complete(self, request: ModelRequest) -> ModelReply:
        action: dict[str, Any] = {"action": "finish", "tool": None, "arguments": [], "text": None}
        dry = re.search(rf"\[ref=(e\d+)\]: {self.plant} is dry", request.messages[-1].content)
        if dry:
            arguments = [{"name": "element", "value": dry[1]}]
            action = {"action": "call", "tool": "click", "arguments": arguments, "text": None}
        return ModelReply(text=json.dumps(action), finish="stop", input_tokens=10, output_tokens=2)


def lived(tmp_path: Path, source: str, **options: Any) -> dict[tuple[str, str], str]:
    """Evaluate with a gardener of moss; return what each task came to by condition, graded twice."""
    data = read_webarena_tasks(source)
    done = finish(run_of(tmp_path / "runs", Gardener("Moss"), data=data, spec=find_memory("full-history"), **options))
    questions = GradedQuestions(data.timelines(done.manifest))
    for row in done.answers:
        assert questions.grade(row.model_copy(update={"status": "unscored", "given": ""})) == row
    return {(row.item, row.kind): row.given or row.reason for row in done.answers}


def test_an_episode_is_graded_by_the_verifier_of_its_task_on_the_state_that_it_left(tmp_path: Path) -> None:
    write_application(tmp_path / "apps" / "plants")
    came = lived(tmp_path, f"webarena:{tmp_path}", conditions=())
    assert came == {
        ("plants.Fern", "question"): "its verifier says: ['Moss'] are wet, Fern is not",
        ("plants.Moss", "question"): "passes",
    }


def test_chained_tasks_of_an_application_are_lived_with_one_memory(tmp_path: Path) -> None:
    folder = write_application(tmp_path / "plants", verifiers={name: verifier_of("Moss") for name in ("One", "Two")})
    data = read_webarena_tasks(f"webarena:{folder}-chained")
    done = finish(run_of(tmp_path / "runs", Gardener("Moss"), data=data, spec=find_memory("full-history"), conditions=()))
    first, second = sorted(done.answers, key=lambda row: row.period)
    assert (first.user_id, first.status, second.status) == ("plants.visits-1", "right", "right")
    assert any("Moss is dry" in text for text in second.memories)


def test_an_episode_may_begin_with_the_first_half_of_a_recorded_one(tmp_path: Path) -> None:
    folder = write_application(tmp_path / "plants", verifiers={"Moss": verifier_of("Moss")})
    data = read_webarena_tasks(f"webarena:{folder}")
    none = find_memory("none")
    recorded = finish(run_of(tmp_path / "runs", Gardener("Moss"), data=data, spec=none))
    begun = data.replaying(recorded)
    idle = finish(run_of(tmp_path / "runs", Gardener("nothing"), data=begun, spec=none, replay=recorded.manifest.run_id))
    assert {row.kind: row.given for row in idle.answers} == dict.fromkeys(
        ("question", "no_memory", "facts", "everything"), "passes"
    )
    assert {row.calls for row in idle.answers} == {1}
    others = read_webarena_tasks(f"webarena:{write_application(tmp_path / 'herbs')}")
    with pytest.raises(EvaluationError, match=r"has no episode of herbs\.Fern, so that there is nothing to begin it with"):
        others.replaying(recorded)


def test_tasks_that_say_nothing_of_an_agent_are_left_out_and_named(tmp_path: Path) -> None:
    nothing = {"One": DONE, "Two": DONE, "Three": GONE}
    folder = write_application(tmp_path / "plants", verifiers={**nothing, "Moss": verifier_of("Moss")})
    data = read_webarena_tasks(f"webarena:{folder}")
    assert [task.task_id for chain in data.chains for task in chain.tasks] == ["plants.Moss"]
    assert data.info.notices == (
        "Left out of 4 tasks, because their verifiers pass before anything is done: plants.One, plants.Two.",
        "Left out of 4 tasks, because their verifiers give no answer: plants.Three.",
    )
    with pytest.raises(EvaluationError, match=r"herbs has no task that says anything of an agent\. Left out of 3 tasks"):
        read_webarena_tasks(f"webarena:{write_application(tmp_path / 'herbs', verifiers=nothing)}")


def test_an_application_that_does_not_begin_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webarena_world, "BEGIN_SECONDS", 1)
    folder = write_application(tmp_path / "plants", page="<p>Closed</p>")
    with pytest.raises(EvaluationError, match=r"plants cannot be used: plants puts no state .* as it begins: .*Closed"):
        read_webarena_tasks(f"webarena:{folder}")


def test_what_cannot_be_done_is_a_sentence_for_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_page, "SETTLE_MS", 4_000)
    note = '<input placeholder="note" onkeydown="if (event.key === `Enter`) this.remove()">'
    spin = '<button onclick="for (;;) {}">Spin</button>'
    folder = write_application(tmp_path / "plants", page=PAGE.replace("<div", f"{note}{spin}<div", 1))
    with closing(ApplicationInBrowser(folder, "Water it.")) as world:

        def call(tool: str, **arguments: str) -> str:
            return world.call(tool, arguments)

        assert "Water it." in world.rules
        assert (
            call("click", element="e99") == f"{REFUSED}the page has no e99 any more; take a reference from the last snapshot."
        )
        field = re.search(r'- (textbox "note" \[ref=\w+\])', world.opening)
        assert field
        assert ": dry moss" in call("type", element=field[1], text="dry moss")
        assert "textbox" not in call("press", element='textbox "note"', key="Enter")
        assert call("press", element='button "Spin"', key="Nonsense").startswith(REFUSED)
        assert "within 4 seconds" in call("click", element='button "Spin"')
        assert call("go", path="https://example.org/").startswith(REFUSED)
        assert json.loads(world.state)["plants"][0] == {"name": "Fern", "watered": False}


def test_a_run_is_verified_with_the_folder_that_it_was_evaluated_on(tmp_path: Path) -> None:
    source = f"webarena:{write_application(tmp_path / 'plants')}"
    status, output = amemgym_here(tmp_path, "evaluate", source, "--memory", "none", "--users", "1")
    assert status == 0, output
    (run,) = (tmp_path / "runs").iterdir()
    status, output = amemgym_here(tmp_path, "verify", str(run))
    assert (status, "give the same data set with --data" in output) == (1, True)
    status, output = amemgym_here(tmp_path, "verify", str(run), "--data", source)
    assert (status, "4 answers graded again" in output) == (0, True), output
