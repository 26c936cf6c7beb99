"""The whole chain as a user runs it: the command, the embedded model, real stores, a real release."""

import json
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest
import yaml

from dataset_card.reference.data_json import read_data_json
from dataset_card.release.manifest import read_manifest
from dataset_card.release.verify import verify_release
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from tests.pipelines.chained import SMALL, Counted
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.commands import amemgym, finish


def digest(home: Path) -> str:
    """The digest of the only demo release in a data folder."""
    return read_manifest(home / "releases" / "demo" / "0.1.0").digest


def replies_kept(home: Path) -> int:
    """How many replies the reply cache holds."""
    with sqlite3.connect(home / "calls.sqlite") as connection:
        return connection.execute("SELECT count(*) FROM replies").fetchone()[0]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished data folder, and what the command said."""
    home = tmp_path_factory.mktemp("finished")
    status, output = finish(amemgym(home, "generate", "demo", *SMALL))
    assert status == 0, output
    return home, output


@pytest.fixture(scope="module")
def finished(first_run: tuple[Path, str]) -> Path:
    return first_run[0]


def test_a_run_without_an_endpoint_says_which_model_the_embedded_one_stands_in_for(first_run: tuple[Path, str]) -> None:
    first_line = first_run[1].splitlines()[0]
    assert first_line == "No address or key of a model is set, so the embedded model takes every role, in place of gpt-4.1."


def test_a_release_is_complete_and_agrees_with_its_manifest(finished: Path) -> None:
    folder = finished / "releases" / "demo" / "0.1.0"
    assert verify_release(folder) == []
    episodes = read_data_json(folder / "demo" / "data.json")
    assert [len(episode.questions) for episode in episodes] == [3, 3]
    assert [len(episode.periods) for episode in episodes] == [3, 3]


def test_every_period_of_the_reference_file_has_exactly_one_right_option_per_question(finished: Path) -> None:
    items = json.loads((finished / "releases" / "demo" / "0.1.0" / "demo" / "data.json").read_text(encoding="utf-8"))
    for item in items:
        for period in item["periods"]:
            for question in item["qas"]:
                variant = [period["state"][name] for name in question["required_info"]]
                assert [choice["state"] for choice in question["answer_choices"]].count(variant) == 1


def test_the_bytes_do_not_depend_on_how_many_users_are_worked_on_at_once(finished: Path, tmp_path: Path) -> None:
    status, output = finish(amemgym(tmp_path, "generate", "demo", *SMALL, "--concurrency", "1"))
    assert status == 0, output
    assert digest(tmp_path) == digest(finished)


def test_the_same_release_is_made_through_a_served_endpoint_and_a_killed_run_repeats_no_finished_call(
    finished: Path, tmp_path: Path
) -> None:
    app = Counted(create_app(api_key="sk-test-0123456789"))
    embedding = f"diversity.embedding_model={model_name()}"
    words = ["generate", "demo", *SMALL, "--model", model_name(), "--set", embedding]
    with on_a_port(app) as url:
        given = {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": "sk-test-0123456789", "AMEMGYM_MAX_IN_FLIGHT": "4"}
        process = amemgym(tmp_path, *words, **given)
        while app.answered.total() < 40:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.5)  # what the dead process had sent is still being answered
        answered, kept = app.answered.total(), replies_kept(tmp_path)
        status, output = finish(amemgym(tmp_path, *words, **given))
    assert status == 0, output
    assert digest(tmp_path) == digest(finished)
    assert 0 < kept < replies_kept(tmp_path)
    assert sum(count - 1 for count in app.answered.values()) <= answered - kept <= 4


def test_a_rerun_makes_the_same_release_without_asking_again(finished: Path) -> None:
    status, output = finish(amemgym(finished, "generate", "demo", *SMALL))
    assert status == 0, output
    assert [path.name for path in (finished / "releases" / "demo").iterdir()] == ["0.1.0"]
    asked = [line for line in output.splitlines() if " calls (" in line]
    assert asked
    for line in asked:
        calls, repeated = line.split(" calls (")[0].rsplit(" ", 1)[1], line.split(" calls (")[1].split(" ", 1)[0]
        assert calls == repeated, line


def test_show_tells_a_users_story(finished: Path) -> None:
    status, output = finish(amemgym(finished, "show", "2"))
    episode = read_data_json(finished / "releases" / "demo" / "0.1.0" / "demo" / "data.json")[1]
    assert status == 0, output
    assert episode.user_profile.name in output
    assert episode.questions[0].query.split()[0] in output


def test_one_user_is_made_again_and_the_other_keeps_its_bytes(finished: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished, home)
    status, output = finish(amemgym(home, "regenerate", "2", "--from", "answers"))
    assert status == 0, output
    before, after = (
        json.loads((home / "releases" / "demo" / version / "demo" / "data.json").read_text(encoding="utf-8"))
        for version in ("0.1.0", "1.0.0")
    )
    assert after[0] == before[0]
    assert after[1]["periods"] == before[1]["periods"]
    assert after[1]["qas"] != before[1]["qas"]
    user_id = before[1]["user_profile"]["uuid"]
    assert output.splitlines()[-1] == "This stays so; `amemgym generate demo --reset` goes back to demo.yaml."
    recipe = (home / "releases" / "demo" / "1.0.0" / "recipe.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(recipe)["again"] == {user_id: {"answers": 1}}
    assert (
        read_manifest(home / "releases" / "demo" / "1.0.0").recipe_fingerprint
        != read_manifest(finished / "releases" / "demo" / "0.1.0").recipe_fingerprint
    )
