"""A release as a task of Inspect, run by Inspect's own command against the embedded model on a port."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, read_eval_log
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from dataset_card.reference.data_json import read_data_json
from pipelines.embedded.bank import model_name
from tests.extras.conftest import KEY
from tests.pipelines.llm.scripted_server import on_a_port

TASK = "pipelines/experiments/inspect_task.py"


def inspect(folder: Path, endpoint: str, **options: str) -> subprocess.CompletedProcess[str]:
    """The command of Inspect with the embedded model, and options of the task."""
    command = [str(Path(sys.executable).with_name("inspect")), "eval", TASK]
    command += [part for name, value in options.items() for part in ("-T", f"{name}={value}")]
    command += ["--model", f"openai-api/embedded/{model_name()}", "--log-dir", str(folder), "--display", "plain"]
    variables = {**os.environ, "EMBEDDED_API_KEY": KEY, "EMBEDDED_BASE_URL": endpoint}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=variables)


def log_in(folder: Path) -> EvalLog:
    """The log in the folder, which holds no other."""
    [path] = folder.glob("*.eval")
    return read_eval_log(str(path))


def metrics(log: EvalLog) -> dict[str, Any]:
    assert log.results is not None
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


def test_every_question_after_every_period_is_a_sample_and_memory_decides_its_score(
    data: Path, own_home: Path, endpoint: str
) -> None:
    options = {"release": str(data), "assistant": "rag-2-4-30", "embedding_model": model_name()}
    done = inspect(own_home / "logs", endpoint, **options)
    assert done.returncode == 0, done.stderr
    log, episodes = log_in(own_home / "logs"), list(read_data_json(data))
    assert log.status == "success"
    assert log.samples is not None
    assert len(log.samples) == sum(len(episode.periods) * len(episode.questions) for episode in episodes)

    found = metrics(log)
    assert found["accuracy"] > 0.6
    assert {f"period {period:02}" for period in range(len(episodes[0].periods))} <= found.keys()
    assert {sample.metadata["user"] for sample in log.samples} == {episode.user_id for episode in episodes}
    asked = log.samples[0]
    assert asked.choices is not None
    assert asked.choices[ord(str(asked.target)) - ord("A")] in str(asked.input)


async def mumble(request: Request) -> JSONResponse:
    """A chat completion without any sense."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hm."}, "finish_reason": "stop"}
    return JSONResponse({"id": "x", "object": "chat.completion", "created": 0, "model": "mumbler", "choices": [choice]})


def test_a_model_that_says_nothing_readable_is_unscored_and_not_wrong(data: Path, own_home: Path) -> None:
    with on_a_port(Starlette(routes=[Route("/v1/chat/completions", mumble, methods=["POST"])])) as url:
        done = inspect(own_home / "logs", url, release=str(data), users="1")
    assert done.returncode == 0, done.stderr
    log = log_in(own_home / "logs")
    assert log.status == "success"
    for sample in log.samples or []:
        score = (sample.scores or {})["chosen_option"]
        assert isinstance(score.value, float)
        assert math.isnan(score.value)
        assert score.reason == "invalid_response_format"


def test_a_release_that_is_not_there_is_one_sentence(own_home: Path, endpoint: str) -> None:
    done = inspect(own_home / "logs", endpoint, release="nowhere")
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "'nowhere' is neither a data.json, nor a release folder" in said
    assert "Traceback" not in said
