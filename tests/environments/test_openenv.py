"""An exported environment served, reset and stepped by OpenEnv itself, and checked by its own validator."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from openenv.core import GenericEnvClient

from pipelines.export.formats import release_writer
from tests.evaluation.scripted_evaluation import tasks
from tests.evaluation.test_acted_tasks import tasks as tool_tasks
from tests.experiments.test_exported_grades import honest_replies
from tests.pipelines.llm.scripted_server import on_a_port


def made_folder(data: Any, place: Path) -> Path:
    folder = place / "amemgym_memory"
    release_writer("openenv")(data, folder)
    return folder


@contextmanager
def served(folder: Path) -> Iterator[Any]:
    """A client of the environment, found where `openenv.yaml` says."""
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "server"]:
        del sys.modules[name]
    try:
        app = import_module("server.app").app
        with on_a_port(app) as url, GenericEnvClient(base_url=url.removesuffix("/v1")).sync() as client:
            yield client
    finally:
        sys.path.remove(str(folder))


def play(client: Any, index: int, replies: Sequence[str]) -> tuple[list[str], Any]:
    """All messages of an episode whose turns are heard and whose question or request is met with these replies."""
    result = client.reset(index=index)
    seen = [result.observation["message"]]
    while not result.observation["asks"]:
        result = client.step({"message": "I see."})
        seen.append(result.observation["message"])
    for reply in replies:
        result = client.step({"message": reply})
    return seen, result


def test_an_episode_is_stepped_to_its_reward(tmp_path: Path) -> None:
    folder = made_folder(tasks("ada"), tmp_path)
    with served(folder) as client:
        episodes = import_module("server.episodes").read_episodes(folder / "server")
        assert len(episodes) == 6
        last = episodes[-1]
        for number, reward in ((last.question.gold_option + 1, 1.0), (99, 0.0)):
            seen, result = play(client, 5, [f"ANSWER: {number}"])
            assert seen == [*last.turns, last.opening]
            assert client.state()["step_count"] == len(seen)
            assert (result.done, result.reward) == (True, reward)


def test_a_tool_dialogue_is_stepped_call_by_call_to_the_grade_of_its_end(tmp_path: Path) -> None:
    folder = made_folder(tool_tasks(), tmp_path)
    with served(folder) as client:
        [episode] = import_module("server.episodes").read_episodes(folder / "server")
        replies = honest_replies(episode.task)
        _, result = play(client, 0, replies[:1])
        assert (result.done, result.observation["message"].startswith("Result of find_customers:")) == (False, True)
        for chosen, reward in ((replies, 1.0), (replies[-1:], 0.0)):
            _, result = play(client, 0, chosen)
            assert (result.done, result.reward) == (True, reward)


@pytest.mark.parametrize("data", [tasks("ada"), tool_tasks()])
def test_the_validator_of_openenv_finds_nothing_wrong_with_the_folder(data: Any, tmp_path: Path) -> None:
    folder = made_folder(data, tmp_path)
    command = [sys.executable, "-m", "openenv.cli", "validate", str(folder), "--level", "static", "--skip-build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
