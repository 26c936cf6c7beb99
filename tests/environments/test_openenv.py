"""An exported environment served, reset and stepped by OpenEnv itself, and checked by its own validator."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from openenv.core import GenericEnvClient

from pipelines.export.formats import release_writer
from tests.evaluation.scripted_evaluation import tasks
from tests.pipelines.llm.scripted_server import on_a_port


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of one user's questions."""
    made = tmp_path_factory.mktemp("openenv") / "amemgym_memory"
    release_writer("openenv")(tasks("ada"), made)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """The address of the environment, found where `openenv.yaml` says."""
    sys.path.insert(0, str(folder))
    try:
        with on_a_port(import_module("server.app").app) as url:
            yield url.removesuffix("/v1")
    finally:
        sys.path.remove(str(folder))


def test_an_episode_is_stepped_to_its_reward(server: str, folder: Path) -> None:
    episodes = import_module("server.episodes").read_episodes()
    assert len(episodes) == 6
    right = episodes[-1]
    for letter, reward in ((right.right, 1.0), ("Z", 0.0)):
        with GenericEnvClient(base_url=server).sync() as client:
            result: Any = client.reset(index=5)
            seen = [result.observation["message"]]
            while not result.observation["asks"]:
                result = client.step({"message": "I see."})
                seen.append(result.observation["message"])
            assert seen == list(right.messages)
            assert client.state()["step_count"] == len(right.turns)
            result = client.step({"message": f"ANSWER: {letter}"})
            assert (result.done, result.reward) == (True, reward)


def test_the_validator_of_openenv_finds_nothing_wrong_with_the_folder(folder: Path) -> None:
    command = [sys.executable, "-m", "openenv.cli", "validate", str(folder), "--level", "static", "--skip-build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
