"""What is the same for every memory: the conditions without it and the baselines, asked once in a run of their own.

That run is in the folder `alone` beside those of the memories. Each of these names it in its manifest, and has its rows among
its answers.
"""

from pathlib import Path

from pipelines.evaluation.records import OF_BASELINES, OF_CONDITIONS, AnswerRow, RunManifest


def alone_folder(path: Path, alone: str) -> Path:
    """Return the folder of the run `alone`, whose answers the run in the folder `path` has among its own."""
    return path.parent / "alone" / alone


def is_shared(row: AnswerRow, manifest: RunManifest) -> bool:
    """Return True where the run has the row from the one that it shares with others."""
    return bool(manifest.alone) and not manifest.is_alone and row.kind in (*OF_CONDITIONS, *OF_BASELINES)
