"""Runs whose files somebody damaged: each is told by its file and what is wrong with it; none is waited for or fills memory."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.records.json_text import parse_json
from dataset_card.release.manifest import RECIPE, ManifestError, read_recipe_fields
from dataset_card.release.verify import verify_release
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import (
    FRESH,
    LATENCY,
    MANIFEST,
    PAGE,
    RESULTS,
    VERIFICATION,
    RunFolder,
    read_run,
    run_folder_of,
    set_damage_aside,
    write_table,
)
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.verifying.verdict import read_judged_run, verify_run
from pipelines.experiments.scoring.gate import read_baseline
from pipelines.home import Home
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.support.commands import amemgym_here

Damage = Callable[[Path], object]
ANSWERS = "answers.parquet"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run on one user; for copies."""
    work = run_of(tmp_path_factory.mktemp("runs"), HonestModel(), data=tasks("ada"), conditions=(), baselines=False)
    finish(work)
    return work.folder.path


def test_each_damaged_file_is_kept_beside_those_that_were_damaged_before(original: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(original, tmp_path / "run"))
    for cut in ("{", "["):
        (folder / RESULTS).write_text(cut, encoding="utf-8")
        assert set_damage_aside(folder).startswith(f"{RESULTS} is wrong")
    assert [(folder / f"{RESULTS}.{name}").read_text(encoding="utf-8") for name in ("damaged-1", "damaged-2")] == ["{", "["]


def said_of(folder: Path) -> str:
    """What reading and verifying the run says; "" where all is well."""
    try:
        return "\n".join(verify_run(read_run(str(folder), runs=folder.parent), folder, tasks("ada")).problems)
    except EvaluationError as error:
        return str(error)


def pipe(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return damage


def text(name: str, content: str) -> Damage:
    return lambda folder: (folder / name).write_text(content, encoding="utf-8")


def column(change: Callable[[Any], Any]) -> Damage:
    """Return what changes the table of the answers."""

    def damage(folder: Path) -> None:
        parquet: Any = pq
        parquet.write_table(change(parquet.read_table(folder / ANSWERS)), folder / ANSWERS)

    return damage


def period(number: int) -> Damage:
    """Return what moves the first answer to another period; its record cannot hold a wrong one, so the table is changed."""

    def moved(table: Any) -> Any:
        periods = [number, *table["period"].to_pylist()[1:]]
        return table.set_column(table.column_names.index("period"), "period", pa.array(periods, pa.int64()))

    return column(moved)


def without(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def linked_out(folder: Path) -> None:
    outside = folder.parent / "elsewhere.parquet"
    shutil.move(folder / ANSWERS, outside)
    (folder / ANSWERS).symlink_to(outside)


def value(name: str, *keys: str, to: object) -> Damage:
    """Return what sets a value in a JSON file of the run."""

    def damage(folder: Path) -> None:
        content = parse_json((folder / name).read_bytes())
        place = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to
        (folder / name).write_text(json.dumps(content), encoding="utf-8")

    return damage


PIPE = "cannot be read: it is a folder, a pipe or a device"
DAMAGES: dict[str, tuple[Damage, str]] = {
    **{f"pipe {name}": (pipe(name), f"{name} {PIPE}") for name in (MANIFEST, RESULTS, LATENCY, FRESH, PAGE)},
    **{f"pipe {name}": (pipe(f"{name}.parquet"), f"{name}.parquet {PIPE}") for name in ("answers", "events", "memory")},
    "a period that fills memory": (period(10**9), "1 user and 1,000,000,001 periods"),
    "a period that the release does not have": (period(5000), "question: 2 questions of the data set missing, or too many"),
    "a period before the first": (period(-1), "answers.parquet is wrong at period: has to be 0 or more"),
    "no seconds": (without(LATENCY), "latency.json is missing."),
    "seconds below zero": (
        value(LATENCY, "median", to=-5),
        "latency.json is wrong at median: has to be 0 or more",
    ),
    "no fresh users": (text(FRESH, "{}"), "fresh.json is wrong at run_id: has to be given"),
    "a count that no number has": (
        text(FRESH, json.dumps({"run_id": "x", "noun": "user", "users": [{"asked": 10**400, "right": 1}]})),
        "fresh.json is wrong at users.0.asked: has to be 1000000000 or less",
    ),
    "a way out of the folder": (text(FRESH, '{"run_id": "../x"}'), "fresh.json is wrong at run_id: '../x' does not lie"),
    "a condition that nobody knows": (
        value(MANIFEST, "conditions", to=["x"]),
        "manifest.json is wrong at conditions: there is no",
    ),
    "no users": (value(MANIFEST, "users", to=[]), "manifest.json is wrong at users: has to be a list of 1 or more"),
    "tokens below zero": (value(RESULTS, "spending", "interview", "input_tokens", to=-1), "from the rows, in spending."),
    "no spending": (value(RESULTS, "spending", to={}), "results.json does not follow from the rows, in spending."),
    "no JSON": (text(RESULTS, "{"), "results.json is wrong: has to be valid JSON (EOF while parsing"),
    "no object": (text(MANIFEST, "[]"), "manifest.json is wrong: has to be a group of fields"),
    "no table": (text(ANSWERS, "PAR1"), "answers.parquet cannot be read: "),
    "a column less": (column(lambda table: table.drop_columns(["status"])), "answers.parquet cannot be read: it has no column"),
    "a column more": (
        column(lambda table: table.append_column("note", table["reply"])),
        "answers.parquet cannot be read: it has a column 'note', which no run writes",
    ),
    "a column of texts": (
        column(lambda table: table.set_column(1, "period", table["period"].cast(pa.string()))),
        "answers.parquet cannot be read: its column 'period' holds string, and not int64",
    ),
    "a link": (linked_out, "answers.parquet is a link that leads out of the run"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_told_by_its_file_and_what_is_wrong_with_it(original: Path, tmp_path: Path, name: str) -> None:
    damage, words = DAMAGES[name]
    folder = Path(shutil.copytree(original, tmp_path / original.name))
    assert said_of(folder) == ""
    damage(folder)
    assert words in said_of(folder)
    assert run_folder_of(str(folder), home=Home(tmp_path, "")) == folder


@pytest.mark.parametrize("name", [ANSWERS, RESULTS])
def test_the_doctor_names_a_file_of_a_run_that_was_cut_and_sets_it_aside(original: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(original, tmp_path / "runs" / original.name))
    assert amemgym_here(tmp_path, "doctor")[0] == 0
    (folder / name).write_bytes((folder / name).read_bytes()[:-30])
    remedy = "The same evaluate command makes the run again from stored replies"
    assert remedy in said_of(folder)
    status, output = amemgym_here(tmp_path, "doctor")
    assert (status, f"{folder}: {name} " in output, remedy in output) == (1, True, True)
    assert amemgym_here(tmp_path, "doctor", "--repair")[0] == 0
    assert (folder / f"{name}.damaged-1").exists()
    assert not RunFolder(folder).finished


def test_every_damaged_file_of_a_run_is_named_at_once_and_set_aside(original: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(original, tmp_path / "runs" / original.name))
    damaged = {ANSWERS, "usage.parquet", "events.parquet", LATENCY, PAGE}
    for name in damaged:
        (folder / name).write_bytes((folder / name).read_bytes()[:-30])
    [line] = [line for line in amemgym_here(tmp_path, "doctor")[1].splitlines() if str(folder) in line]
    assert {name for name in damaged if f" {name} " in line} == damaged
    assert {name for name in damaged - {"events.parquet", PAGE} if name in said_of(folder)} == damaged - {
        "events.parquet",
        PAGE,
    }
    assert amemgym_here(tmp_path, "doctor", "--repair")[0] == 0
    assert {name for name in damaged if (folder / f"{name}.damaged-1").exists()} == damaged


def test_no_pipe_of_a_run_a_release_or_a_baseline_is_waited_for(original: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(original, tmp_path / original.name))
    pipe(VERIFICATION)(folder)
    [problem] = read_judged_run(str(folder), runs=tmp_path).problems
    assert problem == "its verification.json cannot be read; verify it again."
    pipe("baseline.json")(tmp_path)
    with pytest.raises(EvaluationError, match="it is a folder, a pipe or a device"):
        read_baseline(tmp_path / "baseline.json")
    pipe(MANIFEST)(tmp_path)
    assert verify_release(tmp_path) == ["manifest.json cannot be read: it is a folder, a pipe or a device."]
    pipe(RECIPE)(tmp_path)
    with pytest.raises(ManifestError, match="it is a folder, a pipe or a device"):
        read_recipe_fields(tmp_path)
    pipe(RESULTS)(folder)
    assert not RunFolder(folder).finished


def test_as_many_periods_as_answers_can_fill_are_counted(original: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(original, tmp_path / original.name))
    run = read_run(str(folder), runs=tmp_path)
    write_table(folder / ANSWERS, [run.answers[0].model_copy(update={"period": 200})], kind=AnswerRow)
    assert read_run(str(folder), runs=tmp_path).answers[0].period == 200
