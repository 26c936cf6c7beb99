"""A real model's words pass every stage, gate, check, release and evaluation, without the model."""

import json
import subprocess
import sys
from pathlib import Path

from tests.recorded.recording import OUTCOME
from tests.support.commands import clean_environment

NOBODY = {"AMEMGYM_BASE_URL": "http://127.0.0.1:9/v1", "AMEMGYM_API_KEY": "any"}
ROOT = Path(__file__).parents[2]


def test_the_recorded_words_become_the_same_release_and_the_same_score_with_no_model_to_ask(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tests.recorded", "--replay", str(tmp_path)]
    around = clean_environment(tmp_path, **NOBODY)
    done = subprocess.run(line, cwd=ROOT, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout[done.stdout.rindex("\n{\n") :]
    assert json.loads(told) == json.loads(OUTCOME.read_text(encoding="utf-8"))
