"""A real model's words go through every stage, gate and check as far as they got, without the model.

Pinned are calls, rows, refusals and, where an item was finished, the release and the scores of two memories on it. A reply
belongs to what was asked: it is replayed with the prompts of its time.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assets.text.words import runs_of_words
from tests.recorded.recording import Recording, recordings
from tests.support.commands import clean_environment
from tests.support.made_once import make_once

ROOT = Path(__file__).parents[2]
RECORDED = [recording for recording in recordings() if recording.exists]
ABSENT = [recording for recording in recordings() if not recording.exists]


# One process for all, as each needs many seconds to import what they use. What ends one is told of that one.
REPLAYS = """
import sys, traceback
from contextlib import redirect_stdout
from pathlib import Path
from tests.recorded.__main__ import main
from tests.recorded.recording import Recording

folder, *variants = sys.argv[1:]
for variant in variants:
    with Path(folder, f"{variant}.txt").open("w", encoding="utf-8") as told, redirect_stdout(told):
        try:
            main(Recording(variant), Path(folder, variant), replay=True)
        except BaseException:
            traceback.print_exc(file=told)
"""


@dataclass(frozen=True)
class Replay:
    """A recording that was replayed in this data folder; what was printed lies beside it in `.txt`."""

    recording: Recording
    place: Path


def python(place: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment(place)
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def rows_in(path: Path) -> list[dict[str, object]]:
    return pq.read_table(path).to_pylist()  # pyright: ignore[reportUnknownMemberType]


def runs(values: Iterable[object]) -> set[tuple[str, ...]]:
    """Six words in a row, wherever they stand in these values; the letter of a line break's sign is none."""
    texts = [json.dumps(value, default=str, ensure_ascii=False).replace("\\n", "\n") for value in values]
    return {run for text in texts for run in runs_of_words(text, 6)}


def examples(recording: Recording) -> set[tuple[str, ...]]:
    """What the examples of the recorded prompts answer. What they ask has occasions and phrases of the world itself."""
    return runs(part.text for prompt in recording.prompts() for part in prompt.parts[2:-1:2])


# Made for what there is: a recording is put into its folder whenever a model has been asked.
if RECORDED:

    @pytest.fixture(params=RECORDED, ids=lambda recording: recording.variant)
    def replayed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Replay:
        def make(folder: Path) -> None:
            folder.mkdir()
            done = python(folder, "-c", REPLAYS, str(folder), *(recording.variant for recording in RECORDED))
            assert done.returncode == 0, done.stderr

        folder = make_once(tmp_path_factory, "replays", make)
        return Replay(request.param, folder / request.param.variant)

    def test_the_recorded_words_come_to_the_same_rows_refusals_and_scores_with_no_model_to_ask(replayed: Replay) -> None:
        recording = replayed.recording
        printed = replayed.place.with_suffix(".txt").read_text(encoding="utf-8")
        assert "\n{\n" in printed, printed
        told = json.loads(printed[printed.rindex("\n{\n") :])
        known = json.loads(recording.outcome.read_text(encoding="utf-8"))
        assert told == known, f"{recording.reworded()} differ from their recording"
        kept = [row for path in replayed.place.rglob("part-*.parquet") for row in rows_in(path)]
        assert kept
        assert not examples(recording) & runs(kept)

    def test_each_release_scores_two_memories_that_verify_passes_and_gets_no_intervals(replayed: Replay) -> None:
        pages = sorted((replayed.place / "runs").glob("*-*"))
        known = json.loads(replayed.recording.outcome.read_text(encoding="utf-8"))
        assert len(pages) == len(known.get("evaluations", ()))
        for page in pages:
            verdict = json.loads((page / "verification.json").read_text(encoding="utf-8"))
            assert (verdict["problems"], verdict["unverified"]) == ([], [])
            results = json.loads((page / "results.json").read_text(encoding="utf-8"))
            for condition in ("memory", "none", "facts", "everything"):
                assert results["isolated"][condition]["value"] is not None
                assert results["isolated"][condition]["low"] is None
            report = (page / "report.md").read_text(encoding="utf-8")
            assert "There are no intervals: fewer than 6 " in report

    @pytest.mark.parametrize("recording", RECORDED)
    def test_the_prompts_of_the_recording_are_those_of_today(recording: Recording) -> None:
        others = recording.reworded()
        known = json.loads(recording.outcome.read_text(encoding="utf-8"))["reworded"]
        assert others == known, f"{others} have other words than their recording; `make record` renews it, with a model to ask."


def test_nothing_is_recorded_of_the_embedded_model(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "tests.recorded", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "Set AMEMGYM_BASE_URL and AMEMGYM_API_KEY: the embedded model is not recorded.\n"
    assert list(tmp_path.iterdir()) == []


if ABSENT:

    @pytest.mark.parametrize("recording", ABSENT)
    def test_a_recording_that_is_not_there_is_told_in_one_sentence(recording: Recording, tmp_path: Path) -> None:
        done = python(tmp_path, "-m", "tests.recorded", "--replay", "--variant", recording.variant, str(tmp_path))
        assert done.returncode == 1
        assert done.stderr == f"Nothing is recorded in {recording.folder}: `make record` fills it, with a model to ask.\n"
