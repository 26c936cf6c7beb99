"""The whole chain as a user runs it: the command, the embedded model, real stores, a real release."""

import json
import shutil
import sqlite3
from pathlib import Path

import yaml

from dataset_card.amemgym.reference.data_json import read_data_json
from dataset_card.release.manifest import read_manifest
from dataset_card.release.verify import verify_release
from tests.pipelines.chained import IN_FLIGHT, SERVED, SMALL, endpoint
from tests.pipelines.test_loads import output_of_lean
from tests.support.commands import amemgym, amemgym_here, kill


def digest(home: Path) -> str:
    """The digest of the only demo release in a data folder."""
    return read_manifest(home / "releases" / "demo" / "0.1.0").digest


def replies_kept(home: Path) -> int:
    """How many replies the reply cache holds."""
    with sqlite3.connect(home / "calls.sqlite") as connection:
        return connection.execute("SELECT count(*) FROM replies").fetchone()[0]


def test_a_run_without_an_endpoint_says_which_model_the_embedded_one_stands_in_for(finished_demo: Path) -> None:
    first_line = finished_demo.with_suffix(".txt").read_text(encoding="utf-8").splitlines()[0]
    assert first_line == "No address or key of a model is set, so the embedded model takes every role, in place of gpt-4.1."


def test_a_release_is_complete_and_agrees_with_its_manifest(finished_demo: Path) -> None:
    folder = finished_demo / "releases" / "demo" / "0.1.0"
    assert verify_release(folder) == []
    episodes = read_data_json(folder / "demo" / "data.json")
    assert [len(episode.questions) for episode in episodes] == [3, 3]
    assert [len(episode.periods) for episode in episodes] == [3, 3]


def test_every_period_of_the_reference_file_has_exactly_one_right_option_per_question(finished_demo: Path) -> None:
    items = json.loads((finished_demo / "releases" / "demo" / "0.1.0" / "demo" / "data.json").read_text(encoding="utf-8"))
    for item in items:
        for period in item["periods"]:
            for question in item["qas"]:
                variant = [period["state"][name] for name in question["required_info"]]
                assert [choice["state"] for choice in question["answer_choices"]].count(variant) == 1


def test_the_same_release_is_made_through_a_served_endpoint_one_user_at_a_time_and_a_killed_run_repeats_no_finished_call(
    finished_demo: Path, tmp_path: Path
) -> None:
    words = ["generate", "demo", *SMALL, *SERVED]
    with endpoint() as there:
        there.app.enough = lambda: there.app.answered.total() >= 40
        kill(amemgym(tmp_path, *words, **there.surroundings), when=there.app.enough)
        answered, kept = there.app.answered.total(), replies_kept(tmp_path)
        there.app.enough = lambda: False
        status, output = amemgym_here(tmp_path, *words, "--concurrency", "1", **there.surroundings)
    assert status == 0, output
    assert "was cancelled, because the command that made it was killed." in " ".join(output.split())
    assert digest(tmp_path) == digest(finished_demo)
    assert 0 < kept < replies_kept(tmp_path)
    assert sum(count - 1 for count in there.app.answered.values()) <= answered - kept <= IN_FLIGHT


def test_a_rerun_of_what_is_unchanged_makes_nothing_and_imports_neither_report_nor_stage_of_another_benchmark(
    demo_home: Path,
) -> None:
    before = {path: path.stat().st_mtime_ns for path in demo_home.rglob("*") if path.suffix in (".json", ".parquet", ".html")}
    output = output_of_lean(demo_home, "generate", "demo", *SMALL, unneeded=("great_expectations", "matplotlib", "mlcroissant"))
    assert "Nothing to do for demo, all is as it was made" in output
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_rerun_after_a_file_was_lost_makes_the_same_release_without_asking_again(demo_home: Path) -> None:
    before = digest(demo_home)
    (demo_home / "reports" / "demo.html").unlink()
    shutil.rmtree(demo_home / "releases" / "demo" / "0.1.0")
    status, output = amemgym_here(demo_home, "generate", "demo", *SMALL)
    assert (status, digest(demo_home)) == (0, before), output
    asked = [line for line in output.splitlines() if " calls (" in line]
    assert asked
    for line in asked:
        calls, repeated = line.split(" calls (")[0].rsplit(" ", 1)[1], line.split(" calls (")[1].split(" ", 1)[0]
        assert calls == repeated, line


def test_show_tells_a_users_story(finished_demo: Path) -> None:
    status, output = amemgym_here(finished_demo, "show", "2")
    episode = read_data_json(finished_demo / "releases" / "demo" / "0.1.0" / "demo" / "data.json")[1]
    assert status == 0, output
    assert episode.user_profile.name in output
    assert episode.questions[0].query.split()[0] in output
    status, output = amemgym_here(finished_demo, "show", "1", "--variant", "base")
    assert (status, "or name with --variant what is finished: demo" in output) == (1, True), output


def test_one_user_is_made_again_and_the_other_keeps_its_bytes(demo_home: Path, finished_demo: Path) -> None:
    status, output = amemgym_here(demo_home, "regenerate", "2", "--from", "answers")
    assert status == 0, output
    before, after = (
        json.loads((demo_home / "releases" / "demo" / version / "demo" / "data.json").read_text(encoding="utf-8"))
        for version in ("0.1.0", "1.0.0")
    )
    assert after[0] == before[0]
    assert after[1]["periods"] == before[1]["periods"]
    assert after[1]["qas"] != before[1]["qas"]
    user_id = before[1]["user_profile"]["uuid"]
    assert output.splitlines()[-1] == "Later runs keep this; `amemgym generate demo --reset` goes back to demo.yaml."
    recipe = (demo_home / "releases" / "demo" / "1.0.0" / "recipe.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(recipe)["again"] == {user_id: {"answers": 1}}
    assert (
        read_manifest(demo_home / "releases" / "demo" / "1.0.0").recipe_fingerprint
        != read_manifest(finished_demo / "releases" / "demo" / "0.1.0").recipe_fingerprint
    )
