"""A real model's words go through every stage, gate and check as far as they got, without the model.

The model recorded now, of 1.5 billion parameters, finishes no user under the rules on texts: what is pinned are the rows that
it came to and the refusals. The recording is older than the judges of choices, summaries and events, which its recipe leaves
out: what a real model makes of them is not recorded. A recording that finishes one has its release and its score in the
outcome as well.
"""

import json
import subprocess
import sys
from pathlib import Path

from tests.recorded.recording import OUTCOME
from tests.support.commands import clean_environment

NOBODY = {"AMEMGYM_BASE_URL": "http://127.0.0.1:9/v1", "AMEMGYM_API_KEY": "any"}
ROOT = Path(__file__).parents[2]


def test_the_recorded_words_come_to_the_same_rows_and_refusals_with_no_model_to_ask(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tests.recorded", "--replay", str(tmp_path)]
    around = clean_environment(tmp_path, **NOBODY)
    done = subprocess.run(line, cwd=ROOT, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout[done.stdout.rindex("\n{\n") :]
    assert json.loads(told) == json.loads(OUTCOME.read_text(encoding="utf-8"))
