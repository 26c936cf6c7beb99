"""How much cheaper a reward model is than the rollout that it stands for. By hand: python -m tests.bench.reward

A rollout here takes the embedded model, whose answers cost least of all; a real one takes far longer.
"""

import tempfile
import time
from pathlib import Path

from pipelines.reward.models import RewardModel, matrix_of
from pipelines.reward.rows import reward_rows
from pipelines.reward.training import train
from tests.bench.runs import Row, generate, measured
from tests.reward.test_models import made_rows
from tests.support.commands import AMEMGYM, clean_environment

VARIANT = "facts-demo"
FEW, MANY = 5_000, 20_000  # rows


def reward(folder: Path) -> list[Row]:
    """Scoring a run beside making it, and training on many rows beside few."""
    generate(folder, VARIANT)
    line = [*AMEMGYM, "evaluate", VARIANT, "--memory", "bm25", "--conditions", "none,everything"]
    rollout = measured(line, environment=clean_environment(folder), folder=folder)
    [run] = (folder / "runs").glob("*/")
    small, _ = trained(FEW)
    large, model = trained(MANY)
    began = time.process_time()
    rows = reward_rows([run])
    model.values(matrix_of(rows))
    scoring = time.process_time() - began
    return [
        (f"reward score of bm25 on {VARIANT}: recalls per processor second", len(rows) / scoring, "/s"),
        ("evaluating the run / scoring it: processor time", rollout.processor / scoring, "x"),
        (f"reward train, {MANY:,} rows of four memories: processor time", large, "s"),
        (f"training on {MANY:,} rows / on {FEW:,}", large / small, "x"),
    ]


def trained(rows: int) -> tuple[float, RewardModel]:
    """Processor seconds of a training on made rows, and its model."""
    made = made_rows(items=rows // 8)
    began = time.process_time()
    model = train(made, seed=3).model
    return time.process_time() - began, model


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for name, value, unit in reward(Path(place)):
            print(f"{name:<75} {value:>10,.2f} {unit}", flush=True)
