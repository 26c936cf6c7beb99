"""`verify` of a finished run: whatever somebody edits fails, or is marked; what nobody has verified says so on the board."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.isolation.boundary import available_kind
from assets.records.json_text import parse_json
from pipelines.evaluation.folder import MANIFEST, RESULTS, FinishedRun, RunFolder, read_run, write_table
from pipelines.evaluation.metrics.results import score
from pipelines.evaluation.plan import run_id_of
from pipelines.evaluation.records import AnswerRow, DialogueTurn
from pipelines.evaluation.report.formatting import repeat_label
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import page_items, run_page
from pipelines.evaluation.spending import ItemUsage, StepUsage
from pipelines.evaluation.timeline.perceived import events_of_run
from pipelines.evaluation.verifying.again import ask_again
from pipelines.evaluation.verifying.verdict import Verification, read_judged_run, verify_run
from pipelines.experiments.scoring.board_tables import leaderboard_table
from pipelines.home import Home
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import CountingModel, HonestModel, finish, run_of, tasks
from tests.evaluation.test_cheats import cheat, users_in_pairs
from tests.support.coroutines import run

Edit = Callable[[Path, FinishedRun], object]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose memory knows what it was never told."""
    folder = tmp_path_factory.mktemp("runs")
    work = run_of(folder, CountingModel(), data=users_in_pairs(1), spec=cheat("KnowsTheKeys"), conditions=("none",))
    return folder / finish(work).manifest.run_id


def edit_json(name: str, *keys: str, value: object) -> Edit:
    """Return what sets a value in a JSON file of the run."""

    def edit(folder: Path, _: FinishedRun) -> None:
        content: Any = parse_json((folder / name).read_bytes())
        place = content
        for key in keys[:-1]:
            place = place[key]
        assert place[keys[-1]] != value
        place[keys[-1]] = value
        (folder / name).write_text(json.dumps(content), encoding="utf-8")

    return edit


def edit_row(kind: str, **changes: object) -> Edit:
    """Return what changes the first wrong answer of this kind, in its table alone."""

    def edit(folder: Path, run: FinishedRun) -> None:
        rows = list(run.answers)
        place = next(place for place, row in enumerate(rows) if row.kind == kind and row.status == "wrong")
        rows[place] = rows[place].model_copy(update=changes)
        write_table(folder / "answers.parquet", rows, kind=AnswerRow)

    return edit


def remove_row(kind: str) -> Edit:
    """Return what leaves out the first wrong answer of this kind, and computes all else anew."""

    def edit(folder: Path, run: FinishedRun) -> None:
        rows = list(run.answers)
        rows.remove(next(row for row in rows if row.kind == kind and row.status == "wrong"))
        forge(folder, run, answers=rows)

    return edit


def edit_turn(folder: Path, run: FinishedRun) -> None:
    turns = [run.turns[0].model_copy(update={"reply": "You are right."}), *run.turns[1:]]
    write_table(folder / "turns.parquet", turns, kind=DialogueTurn)


def divide(*names: str) -> Edit:
    """Return what divides these amounts by ten wherever they stand."""

    def smaller(record: Any) -> dict[str, int]:
        return {name: getattr(record, name) // 10 for name in names if getattr(record, name)}

    def edit(folder: Path, run: FinishedRun) -> None:
        usage = list[ItemUsage]()
        for row in run.usage:
            spending = {purpose: used.model_copy(update=smaller(used)) for purpose, used in row.spending.items()}
            usage.append(row.model_copy(update={"spending": spending}))
        answers = [row.model_copy(update=smaller(row)) for row in run.answers]
        forge(folder, run, answers=answers, usage=usage)

    return edit


def divide_rows(folder: Path, run: FinishedRun) -> None:
    """The tokens of the answers alone, and what follows from them."""
    forge(folder, run, answers=[row.model_copy(update={"input_tokens": row.input_tokens // 10}) for row in run.answers])


def rename(folder: Path, run: FinishedRun) -> None:
    """Another model, signed anew wherever the run's id stands."""
    models = {**run.manifest.models, "assistant": "better-model"}
    manifest = run.manifest.model_copy(update={"models": models})
    manifest = manifest.model_copy(update={"run_id": run_id_of(manifest)})
    usage = [row.model_copy(update={"run_id": manifest.run_id}) for row in run.usage]
    forge(folder, replace(run, manifest=manifest), usage=usage)


def forge(folder: Path, run: FinishedRun, *, answers: Sequence[AnswerRow] = (), usage: Sequence[ItemUsage] = ()) -> None:
    """Write a run with other rows as whoever edits it would: with everything that follows from them."""
    answers = answers or run.answers
    usage = usage or run.usage
    spent = sum((row.usage for row in usage), StepUsage())
    results = score(run.manifest, answers, run.turns, usage=spent)
    forged = replace(run, answers=answers, usage=usage, results=results)
    timelines = users_in_pairs(1).timelines(run.manifest)
    place = RunFolder(folder)
    place.begin(run.manifest)
    page = run_page(forged, page_items(timelines, run.turns))
    place.finish(forged, events=events_of_run(timelines, run.turns), report="", page=page)


def other_code(folder: Path, _: FinishedRun) -> None:
    (folder / "code" / "cheating_memories.py").write_text("", encoding="utf-8")


def linked_code(folder: Path, _: FinishedRun) -> None:
    (folder / "code" / "more.py").symlink_to(__file__)


def no_table(folder: Path, _: FinishedRun) -> None:
    (folder / "memory.parquet").unlink()


EDITS: dict[str, tuple[Edit, str]] = {
    "no control": (edit_json(RESULTS, "control", value=None), "does not follow from the rows, in control."),
    "another model": (edit_json(MANIFEST, "models", "assistant", value="better-model"), "manifest.json was edited"),
    "another model everywhere": (rename, "the manifest does not name test-model, which the run asked (interview)."),
    "another memory": (edit_json(MANIFEST, "memory", "name", value="honest"), "manifest.json was edited"),
    "another boundary": (edit_json(MANIFEST, "boundary", value="gvisor"), "the boundary 'gvisor', and items of it had"),
    "a tenth of the tokens in rows": (divide_rows, "its answers took"),
    "a tenth of all tokens": (divide("input_tokens", "output_tokens"), "the input tokens of its answers: "),
    "a tenth of all money": (divide("nano_usd"), "its money for interview: $"),
    "other money": (edit_json(RESULTS, "spending", "interview", "nano_usd", value=1), "from the rows, in spending."),
    "other lost writes": (edit_json(RESULTS, "operations", "work", "lost_writes", value=1), "the rows, in operations."),
    "a row's status": (edit_row("question", status="right"), "its reply is graded otherwise by the data set"),
    "a row's reply": (edit_row("question", reply="I cannot say."), "its reply is graded otherwise by the data set"),
    "a row's question": (edit_row("question", asked="Which is right?"), "it does not follow from the data set, its reply and"),
    "a row's failure": (edit_row("question", failure="misread"), "it does not follow from the data set, its reply and"),
    "a question less": (remove_row("question"), "question: 1 question of the data set missing, or too many"),
    "a bound less": (remove_row("options_only"), "options_only: 1 question of the data set missing, or too many"),
    "a turn's text": (edit_turn, "events.parquet does not follow from the turns and the data set."),
    "a score": (edit_json(RESULTS, "metrics", "overall", "value", value=1.0), "from the rows, in metrics."),
    "an interval": (edit_json(RESULTS, "metrics", "overall", "low", value=0.9), "from the rows, in metrics."),
    "other code": (other_code, "the memory's code in code/ is not what the run was made with."),
    "a link in its code": (linked_code, "more.py' is a link, or lies behind one, that leads out of"),
    "a table less": (no_table, "memory.parquet is missing."),
}


def copy_run(original: Path, to: Path) -> Path:
    """Copy the run with the one that asked its baselines and conditions, and return its folder."""
    shutil.copytree(original.parent / "alone", to / "alone")
    return Path(shutil.copytree(original, to / original.name))


def verdict_on(folder: Path) -> Verification:
    return verify_run(read_run(str(folder), runs=folder.parent), folder, users_in_pairs(1))


@pytest.mark.slow
@pytest.mark.skipif(available_kind() == "none", reason="this machine gives no boundary")
def test_whatever_is_edited_in_a_finished_run_fails_or_is_marked(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("test-model: {input: 1, output: 2}\ntest-embedding: {input: 0, output: 0}\n", encoding="utf-8")
    monkeypatch.setenv("AMEMGYM_PRICES", str(prices))
    run = read_run(str(original), runs=original.parent)
    missed = dict[str, object]()
    for name, (edit, words) in EDITS.items():
        folder = copy_run(original, tmp_path / name)
        edit(folder, run)
        found = verdict_on(folder)
        if not any(words in sentence for sentence in (*found.problems, *found.unverified)):
            missed[name] = found
    assert missed == {}
    whole = verdict_on(copy_run(original, tmp_path / "whole"))
    assert (whole.problems, whole.unverified) == ((), ())


def test_a_run_that_nobody_verified_is_marked_on_the_board_until_somebody_does(original: Path, tmp_path: Path) -> None:
    folder = copy_run(original, tmp_path)
    unverified = leaderboard_table([read_judged_run(str(folder), runs=tmp_path)])
    assert "KnowsTheKeys (unverified)" in unverified
    assert f"Not verified of {original.name}: nobody has graded its replies again" in unverified

    verdict_on(folder)
    assert "nverified" not in leaderboard_table([read_judged_run(str(folder), runs=tmp_path)])
    edit_json(RESULTS, "metrics", "overall", "value", value=1.0)(folder, read_run(str(folder), runs=tmp_path))
    changed = leaderboard_table([read_judged_run(str(folder), runs=tmp_path)])
    assert "is off the board, because it failed verification: it was changed after it had been verified" in changed


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (
            ("https://api.example.com/v1",),
            "it depends on a hosted model at https://api.example.com/v1, which can change or end",
        ),
        ((), "test-judge, test-model, test-user was not asked at an address, and is not the embedded model"),
    ],
)
def test_a_run_whose_models_are_elsewhere_says_that_it_cannot_be_asked_again(
    original: Path, tmp_path: Path, places: tuple[str, ...], words: str
) -> None:
    found = read_run(str(original), runs=original.parent)
    moved = replace(found, manifest=found.manifest.model_copy(update={"places": places}))
    asked = run(ask_again(moved, original, users_in_pairs(1), percent=100, seed=1, home=Home(tmp_path, "")))
    assert asked.sentence.startswith("It cannot be asked again: ")
    assert words in asked.sentence


READS = """
import importlib
from pathlib import Path

HERE = Path(__file__).parent


class Reads:
    def __init__(self):
        self.kept = [(HERE / "named.txt").read_text(), (HERE / ("hid" + "den.txt")).read_text()]

    def write(self, events):
        importlib.import_module("hel" + "per")

    def recall(self, query, *, tokens):
        return self.kept
"""


@pytest.mark.skipif(available_kind() == "none", reason="this machine gives no boundary")
def test_files_that_a_memory_names_are_in_its_digest_and_others_that_it_opens_are_told(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name, text in {"reads.py": READS, "named.txt": "1", "hidden.txt": "2", "helper.py": "", "unread.txt": ""}.items():
        (own / name).write_text(text, encoding="utf-8")
    spec = find_memory(f"{own / 'reads.py'}:Reads")
    work = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=())
    run = finish(work)
    assert run.manifest.memory_files == ("named.txt", "reads.py")
    assert [row.opened for row in run.usage] == [("helper.py", "hidden.txt")]
    assert "Reads opened helper.py, hidden.txt, which its code does not name" in run_report(run)
    folder = work.folder.path
    assert (folder / "code" / "named.txt").read_text(encoding="utf-8") == "1"
    [left_open, *_] = verify_run(run, folder, tasks("ada")).unverified
    assert left_open.endswith("which its memory opened and its digest does not have: helper.py, hidden.txt")

    (own / "named.txt").write_text("3", encoding="utf-8")
    edited = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=())
    assert edited.manifest.run_id != run.manifest.run_id


def test_a_change_among_the_packages_of_a_memory_s_environment_makes_another_run(tmp_path: Path) -> None:
    packages = packages_in(tmp_path / "venv")
    recorded = packages / "native-1.dist-info" / "RECORD"
    recorded.parent.mkdir()
    (tmp_path / "mine.py").write_text("class Mine: ...", encoding="utf-8")
    spec = find_memory(f"{tmp_path}/mine.py:Mine?python={tmp_path}/venv/bin/python")
    versions = list[str]()
    ids = set[str]()
    for changed, text in ((packages / "used.py", "one"), (packages / "used.py", "two"), (recorded, "native.so,sha256=1,1")):
        changed.write_text(text, encoding="utf-8")
        manifest = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec).manifest
        versions.append(manifest.memory_version)
        ids.add(manifest.run_id)
        assert "the packages of its memory's environment decide" in repeat_label(manifest)
    assert len(ids) == len(set(versions)) == 3
    assert versions[0].startswith("packages of its environment ")


def test_the_same_packages_in_another_environment_make_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Mine: ...", encoding="utf-8")
    names: list[str] = []
    manifests: list[str] = []
    for owner, installer in (("ada", "pip"), ("ben", "uv")):
        packages = packages_in(tmp_path / owner)
        (packages / "used.py").write_text("used = 1", encoding="utf-8")
        (packages / "used-1.dist-info").mkdir()
        # A script begins with the path of its interpreter.
        record = f"used.py,sha256=1,1\n../../../bin/used,sha256={owner},9\nused-1.dist-info/INSTALLER,sha256={installer},3\n"
        (packages / "used-1.dist-info" / "RECORD").write_text(record, encoding="utf-8")
        spec = find_memory(f"{tmp_path}/mine.py:Mine?python={tmp_path}/{owner}/bin/python&topk=5")
        names.append(spec.name)
        manifests.append(run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec).manifest.model_dump_json())
    assert manifests[0] == manifests[1]
    assert str(tmp_path) not in manifests[0]
    assert names == ["Mine?topk=5"] * 2


def packages_in(environment: Path) -> Path:
    """Return the packages' folder of a new virtual environment."""
    packages = environment / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    return packages
