"""A real model's words go through every stage, gate and check as far as they got, without the model.

Pinned are rows, refusals, what each prompt and gate yielded and, where a user was finished, the release and its score. A reply
belongs to what was asked: it is replayed with the prompts of its time.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from assets.text.words import runs_of_words
from tests.recorded.recording import OUTCOME, recorded_prompts, reworded
from tests.support.commands import clean_environment

NOBODY = {"AMEMGYM_BASE_URL": "http://127.0.0.1:9/v1", "AMEMGYM_API_KEY": "any"}
ROOT = Path(__file__).parents[2]


def test_the_recorded_words_come_to_the_same_rows_and_refusals_with_no_model_to_ask(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tests.recorded", "--replay", str(tmp_path)]
    around = clean_environment(tmp_path, **NOBODY)
    done = subprocess.run(line, cwd=ROOT, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout[done.stdout.rindex("\n{\n") :]
    assert json.loads(told) == json.loads(OUTCOME.read_text(encoding="utf-8")), f"{reworded()} differ from their recording"
    kept = [row for path in tmp_path.rglob("part-*.parquet") for row in rows_in(path)]
    assert kept
    assert not examples() & runs(kept)


def rows_in(path: Path) -> list[dict[str, object]]:
    return pq.read_table(path).to_pylist()  # pyright: ignore[reportUnknownMemberType]


def runs(values: Iterable[object]) -> set[tuple[str, ...]]:
    """Six words in a row, wherever they stand in these values."""
    return {run for value in values for run in runs_of_words(json.dumps(value, default=str, ensure_ascii=False), 6)}


def examples() -> set[tuple[str, ...]]:
    """What the examples of the recorded prompts say."""
    return runs(part.text for prompt in recorded_prompts() for part in prompt.parts[1:-1])


def test_the_prompts_of_the_recording_are_those_of_today() -> None:
    others = reworded()
    known = json.loads(OUTCOME.read_text(encoding="utf-8"))["reworded"]
    assert others == known, f"{others} have other words than their recording; `make record` renews it, with a model to ask."
