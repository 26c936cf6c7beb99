"""A real model's words pass every stage, gate, check, release and evaluation, without the model."""

import json
from pathlib import Path
from typing import Any

from tests.recorded.recording import EVALUATE, GENERATE, OUTCOME, REPLIES, VARIANT, amemgym, outcome


def done(place: Path, *words: str) -> None:
    finished = amemgym(place, words)
    assert finished.returncode == 0, finished.stderr


def test_the_recorded_words_become_the_same_release_and_the_same_scores_with_no_model_to_ask(tmp_path: Path) -> None:
    recorded: dict[str, Any] = json.loads(OUTCOME.read_text(encoding="utf-8"))
    done(tmp_path, "cache", "import", str(REPLIES))
    done(tmp_path, *GENERATE, "--offline")
    done(tmp_path, "verify", str(tmp_path / "releases" / VARIANT / recorded["version"]))
    done(tmp_path, *EVALUATE, "--offline")
    assert outcome(tmp_path) == recorded
