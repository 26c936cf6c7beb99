"""Features and a model's bytes follow from rows and seed alone, not from how a process orders its sets."""

import os
import subprocess
import sys
from pathlib import Path

MADE = """
import hashlib
from pathlib import Path
from pipelines.reward.features import features_of
from pipelines.reward.training import train
from tests.reward.test_features import EVENTS, NEW, OLD, QUERY, Recall
from tests.reward.test_models import made_rows

recalls = [Recall(QUERY, texts, 60, EVENTS, 4) for texts in ((OLD,), (NEW, OLD), (EVENTS.texts[2], NEW))]
told = [features_of(recall) for recall in recalls]
rows = made_rows(items=7)
for place, row in enumerate(rows):
    rows[place] = row.model_copy(update={"features": told[place % 3] | {"newest_told": row.features["newest_told"]}})
out = Path("model.json")
train(rows, seed=3).model.save(out)
print(told, hashlib.sha256(out.read_bytes()).hexdigest())
"""


def made_with(hash_seed: str, *, folder: Path) -> str:
    """Return features and a model's digest of a process of its own."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run([sys.executable, "-c", MADE], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_processes_with_different_hash_seeds_give_the_same_features_and_model_bytes(tmp_path: Path) -> None:
    first = made_with("1", folder=tmp_path)
    assert "nearest_told" in first
    assert made_with("2", folder=tmp_path) == first
