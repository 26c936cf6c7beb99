"""Draw a study for `amemgym annotate sample`."""

from typing import get_args

from assets.records.annotation import StudyKind
from pipelines.cli.annotate import Sampling
from pipelines.cli.annotation_work import in_one_sentence, studies
from pipelines.cli.diff import source_folder
from pipelines.cli.problems import Problem
from pipelines.cli.publish import hub_problems
from pipelines.evaluation.command import runs_folder
from pipelines.evaluation.folder import FinishedRun, read_run
from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.sampling import Target
from pipelines.experiments.annotation.source import load_source
from pipelines.experiments.annotation.study import Order, make_study, paper_target
from pipelines.home import home

KINDS: tuple[StudyKind, ...] = get_args(StudyKind)


def draw(asked: str, release: str, *, annotators: tuple[str, ...], sampling: Sampling) -> None:
    """Sample a study and say how large it is, and why."""
    kind = _kind(asked)
    target = _target(kind, sampling)
    with hub_problems():
        place = source_folder(release, endpoint="")
    with in_one_sentence():
        source = load_source(place)
        name = sampling.name or f"{kind}-{source.digest[:6]}"
        order = Order(name=name, kind=kind, annotators=annotators, target=target, seed=sampling.seed)
        study, keys = make_study(order, source, run=_run(kind, sampling.run))
        folder = StudyFolder(studies() / name)
        folder.begin(study, keys)
    for sentence in study.sizing:
        print(sentence)
    print(f"{name}: {len(study.tasks)} items for {', '.join(annotators)} in {folder.path}. Next: amemgym annotate serve {name}")


def _kind(asked: str) -> StudyKind:
    for kind in KINDS:
        if asked == kind:
            return kind
    raise Problem(f"There is no study {asked!r}; there are {', '.join(KINDS)}.")


def _target(kind: StudyKind, sampling: Sampling) -> Target:
    if sampling.paper:
        return paper_target(kind)
    if not 0 < sampling.expected < 1 or not sampling.half_width:
        raise Problem("--expected lies between 0 and 1, and --half-width above 0; neither can be at an end.")
    if sampling.size == 0:
        raise Problem("A study of 0 items has nothing to annotate; leave --size out, or raise it.")
    return Target(expected=sampling.expected, half_width=sampling.half_width, size=sampling.size, controls=sampling.controls)


def _run(kind: StudyKind, name: str) -> FinishedRun | None:
    if kind != "integrity" and name:
        raise AnnotationError(f"A study of {kind} reads the release alone; leave --run out.")
    return read_run(name, runs=runs_folder(home())) if name else None
