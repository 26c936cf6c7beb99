"""Studies of the scenario's user and a twin, for this folder's tests and the browser's."""

from pathlib import Path
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.records.annotation import StudyKind
from pipelines.evaluation.folder import FinishedRun
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.records import ItemAnswer, ItemKey, Study
from pipelines.experiments.annotation.results import StudyAnswers, collect_answers
from pipelines.experiments.annotation.study import StudyRequest, Target, make_study
from pipelines.experiments.annotation.units import Source
from tests.support import scenario

TWO = ("anna", "ben")


def source(*episodes: Episode, digest: str = "d" * 64) -> Source:
    return Source("demo", "0.1.0", digest, episodes or (scenario.episode(), scenario.episode("5f0c-ada-003")))


def study(kind: StudyKind = "truth", *, run: FinishedRun | None = None, **changes: Any) -> tuple[Study, tuple[ItemKey, ...]]:
    """A study of everything that can be sampled, without controls."""
    target = Target(size=1000, controls=0.0)
    fields: dict[str, Any] = {"name": "check", "kind": kind, "annotators": TWO, "target": target, **changes}
    origin = fields.pop("source", source())
    return make_study(StudyRequest(**fields), origin, run=run)


def begin_study(root: Path, kind: StudyKind = "truth", **changes: Any) -> StudyFolder:
    folder = StudyFolder(root / "check")
    folder.begin(*study(kind, **changes))
    return folder


def answered(folder: StudyFolder, **labels: dict[str, str] | None) -> StudyAnswers:
    """Every annotator gives the label that the key expects, except for the items in `labels`."""
    keys = folder.keys()
    for name in TWO:
        own = labels.get(name) or {}
        answers = {item: ItemAnswer(value=own.get(item, key.expected)) for item, key in keys.items()}
        folder.put(folder.sheet(name), answers)
    return collect_answers(folder.study(), keys, folder.sheets())
