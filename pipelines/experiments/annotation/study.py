"""A study made from its source: sampled, numbered without a trace of where items are from, dealt to each annotator."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from assets.engine.seeded_random import SeededRandom
from assets.records.annotation import StudyKind
from pipelines.evaluation.folder import FinishedRun
from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.records import STUDY_NAME, AnswerSheet, Key, Study, Task
from pipelines.experiments.annotation.sampling import Target, sized, stratified
from pipelines.experiments.annotation.source import Source, dialogues
from pipelines.experiments.annotation.units import NONE, Draft, Unit, as_control, exposure_units, integrity_units, truth_units

# App. D: 200 queries, 40 sessions (748 items), 100 questions, and no planted items.
PAPER_SIZES: dict[StudyKind, int] = {"exposure": 200, "integrity": 40, "truth": 100}
# Becomes a file's name and a part of the page's address.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
UNIT_NAMES: dict[StudyKind, str] = {"exposure": "item", "integrity": "session", "truth": "question"}


@dataclass(frozen=True)
class Order:
    """What study is asked for."""

    name: str
    kind: StudyKind
    annotators: tuple[str, ...]
    target: Target
    seed: int = 42


def paper_target(kind: StudyKind) -> Target:
    """The sample of the paper's study."""
    return Target(size=PAPER_SIZES[kind], controls=0.0)


def make_study(order: Order, source: Source, *, run: FinishedRun | None = None) -> tuple[Study, tuple[Key, ...]]:
    """Draw the study and the key that stays apart from it. Raises AnnotationError when there is nothing to draw from."""
    _check_names(order)
    units = _units(order, source, run)
    if not units:
        raise AnnotationError(f"{source.name} has nothing to annotate for a study of {order.kind}.")
    each = fmean(len(unit.drafts) for unit in units)
    can = fmean(bool(draft.others) for unit in units for draft in unit.drafts)
    target = replace(order.target, controls=order.target.controls * can)
    sizing = sized(target, population=len(units), items_per_unit=each, unit=UNIT_NAMES[order.kind])
    rng = SeededRandom(order.seed, "annotation", order.kind, source.digest)
    drawn = stratified(units, size=sizing.units, stratum=lambda unit: unit.stratum, rng=rng)
    groups = [list(unit.drafts) for unit in rng.shuffled(drawn)]
    planted = _plant(groups, order, rng=rng)
    tasks, keys = _numbered(groups)
    study = Study(
        name=order.name,
        kind=order.kind,
        dataset=source.name,
        dataset_digest=source.digest,
        variant=source.variant,
        run=run.manifest.run_id if run else "",
        seed=order.seed,
        annotators=order.annotators,
        sizing=(*sizing.sentences, *planted),
        tasks=tasks,
    )
    return study, keys


def _check_names(order: Order) -> None:
    if not re.fullmatch(STUDY_NAME, order.name):
        raise AnnotationError(
            f"{order.name!r} cannot name a study; use up to 40 small letters, digits, - and _, a letter or digit first."
        )
    names = order.annotators
    if len(names) < 2 or len(set(names)) < len(names):
        raise AnnotationError("Agreement takes two or more annotators with different names; give --annotator for each.")
    for name in names:
        if not NAME.fullmatch(name):
            raise AnnotationError(f"{name!r} cannot name an annotator; use up to 40 letters, digits, - and _.")


def _units(order: Order, source: Source, run: FinishedRun | None) -> list[Unit]:
    if order.kind == "integrity":
        if run is None:
            raise AnnotationError("A study of integrity reads the dialogues of an evaluation; name its run with --run.")
        return integrity_units(dialogues(run, source))
    return exposure_units(source) if order.kind == "exposure" else truth_units(source, seed=order.seed)


def _plant(groups: list[list[Draft]], order: Order, *, rng: SeededRandom) -> list[str]:
    """Turn a share of the items for which another value is sure to be wrong into controls, and say how many."""
    places = [(one, two) for one, group in enumerate(groups) for two, draft in enumerate(group) if draft.others]
    share = order.target.controls
    planted = sorted(rng.sample(places, round(share * len(places))))
    for one, two in planted:
        groups[one][two] = as_control(groups[one][two], kind=order.kind, rng=rng)
    if not share or not places:
        return []
    total = sum(map(len, groups))
    sure = f"{100 * share:g} % of the {len(places)} for which another value is sure to be wrong"
    return [f"{len(planted)} of {total} items are planted: {sure}."]


def _numbered(groups: Sequence[Sequence[Draft]]) -> tuple[tuple[Task, ...], tuple[Key, ...]]:
    tasks, keys = list[Task](), list[Key]()
    for place, group in enumerate(groups, start=1):
        for draft in group:
            item = f"item-{len(tasks) + 1:04d}"
            group_name = f"group-{place:04d}"
            tasks.append(Task(item=item, group=group_name, passages=draft.passages, facts=draft.facts, labels=draft.labels))
            keys.append(
                Key(
                    item=item,
                    user_id=draft.user_id,
                    period=draft.period,
                    session=draft.session,
                    question_id=draft.question_id,
                    variable=draft.variable,
                    text=draft.text,
                    expected=draft.expected,
                    control=draft.control,
                )
            )
    return tuple(tasks), tuple(keys)


def dealt(study: Study, sheet: AnswerSheet) -> list[Task]:
    """The items in this annotator's own order: dialogues shuffled and the items of each, options too, ratings not."""
    rng = SeededRandom(study.seed, "order", study.name, sheet.annotator)
    groups: dict[str, list[Task]] = {}
    for task in study.tasks:
        if sheet.items is None or task.item in sheet.items:
            groups.setdefault(task.group, []).append(task)
    tasks = [task for group in rng.shuffled(list(groups)) for task in rng.shuffled(groups[group])]
    return [_options_dealt(task, rng) for task in tasks] if study.kind == "truth" else tasks


def _options_dealt(task: Task, rng: SeededRandom) -> Task:
    options = rng.shuffled([label for label in task.labels if label.value != NONE])
    return task.model_copy(update={"labels": (*options, *(label for label in task.labels if label.value == NONE))})
