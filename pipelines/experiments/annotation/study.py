"""A study made from its source: its size by arithmetic, a stratified and seeded draw, and each annotator's own order."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from statistics import fmean
from typing import TypeVar

from assets.engine.seeded_random import SeededRandom
from assets.records.annotation import StudyKind
from assets.reporting.plurals import counted, is_or_are
from pipelines.evaluation.folder import FinishedRun
from pipelines.experiments.annotation.records import STUDY_NAME, AnnotationError, AnnotationItem, AnswerSheet, ItemKey, Study
from pipelines.experiments.annotation.units import (
    ItemDraft,
    SampleUnit,
    Source,
    dialogues,
    exposure_units,
    integrity_units,
    make_control,
    own_options,
    truth_units,
)

T = TypeVar("T")
Z = 1.959964  # the normal quantile of a two-sided 95 % interval


@dataclass(frozen=True)
class Target:
    """The interval that the sample is for: `half_width` around an `expected` share, both as shares of 1.

    `size` is a number of units that replaces the arithmetic; `controls` is the share of items with a wrong value.
    """

    expected: float = 0.95
    half_width: float = 0.03
    size: int | None = None
    controls: float = 0.1


@dataclass(frozen=True)
class SampleSize:
    """The number of units that are sampled, and why."""

    units: int
    sentences: tuple[str, ...]


def sample_size(target: Target, *, population: int, items_per_unit: float = 1.0, unit: str = "item") -> SampleSize:
    """Return the number of units out of `population`, by the normal approximation with finite population correction.

    n0 = z^2 p (1 - p) / h^2 items, less where the release has few: n = n0 / (1 + (n0 - 1) / N).
    """
    if target.size is not None:
        taken = min(target.size, population)
        asked = f"{counted(target.size, unit)} {is_or_are(target.size)} asked for"
        return SampleSize(taken, (f"{asked}; of {population:,}, {taken:,} {is_or_are(taken)} taken.",))
    p = target.expected
    h = target.half_width
    items = Z**2 * p * (1 - p) / h**2
    total = population * items_per_unit
    needed = items / (1 + (items - 1) / total) if items > 1 else 1.0
    drawn = needed / (1 - target.controls)
    units = min(population, _ceiling(drawn / items_per_unit))
    first = f"For {100 * p:g} % give or take {100 * h:g} points: 1.96^2 x {p:g} x {1 - p:g} / {h:g}^2 = {items:.1f} items."
    second = f"Of a population of {total:.0f}: {items:.1f} / (1 + ({items:.1f} - 1) / {total:.0f}) = {needed:.1f} items."
    each = f" / {items_per_unit:.3g} items for each {unit}" if items_per_unit != 1 else ""
    planted = f"With {100 * target.controls:.3g} % of the items planted" if target.controls else "With nothing planted"
    these = f"{units:,} of {counted(population, unit)} {is_or_are(units)}"
    third = f"{planted}: {needed:.1f} / {1 - target.controls:.4g}{each}, so {these} taken."
    note = "This counts the sampling of items alone; reported intervals are taken over users, and are wider where users differ."
    return SampleSize(units, (first, second, third, note))


def sample_strata(units: Sequence[T], *, size: int, stratum: Callable[[T], str], rng: SeededRandom) -> list[T]:
    """Return so many units, from each stratum its share (largest remainders, ties by rng), in the order given."""
    strata: dict[str, list[int]] = {}
    for index, unit in enumerate(units):
        strata.setdefault(stratum(unit), []).append(index)
    quotas = _quotas(strata, size=min(size, len(units)), rng=rng)
    taken: list[int] = []
    for name, indices in strata.items():
        taken += rng.sample(indices, quotas[name])
    return [units[index] for index in sorted(taken)]


def _quotas(strata: dict[str, list[int]], *, size: int, rng: SeededRandom) -> dict[str, int]:
    total = sum(map(len, strata.values()))
    quotas = {name: size * len(indices) // total for name, indices in strata.items()}
    # By what the whole numbers cut off; the draw decides between equals.
    by_remainder = sorted(rng.shuffled(list(strata)), key=lambda name: -(size * len(strata[name]) % total))
    for name in by_remainder[: size - sum(quotas.values())]:
        quotas[name] += 1
    return quotas


def _ceiling(number: float) -> int:
    return max(1, -int(-(number - 1e-9) // 1))  # rounding errors of floats must not add an item


# App. D: 200 queries, 40 sessions (748 items), 100 questions, and no planted items.
PAPER_SIZES: dict[StudyKind, int] = {"exposure": 200, "integrity": 40, "truth": 100}
# Becomes a file's name.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
UNIT_NAMES: dict[StudyKind, str] = {"exposure": "item", "integrity": "session", "truth": "question"}


@dataclass(frozen=True)
class StudyRequest:
    """The settings of a new study: from the same source they always draw the same items."""

    name: str
    kind: StudyKind
    annotators: tuple[str, ...]
    target: Target
    seed: int = 42


def paper_target(kind: StudyKind) -> Target:
    """Return the sample of the paper's study."""
    return Target(size=PAPER_SIZES[kind], controls=0.0)


def make_study(request: StudyRequest, source: Source, *, run: FinishedRun | None = None) -> tuple[Study, tuple[ItemKey, ...]]:
    """Draw the study and the key that stays apart from it. Raises AnnotationError when there is nothing to draw from."""
    _check_names(request)
    units = _units(request, source, run)
    if not units:
        raise AnnotationError(f"{source.name} has nothing to annotate for a study of {request.kind}.")
    drafts = list(chain.from_iterable(unit.drafts for unit in units))
    # Only an item with other values can become a control.
    can = fmean(bool(draft.others) for draft in drafts)
    target = replace(request.target, controls=request.target.controls * can)
    each = len(drafts) / len(units)
    sizing = sample_size(target, population=len(units), items_per_unit=each, unit=UNIT_NAMES[request.kind])
    rng = SeededRandom(request.seed, "annotation", request.kind, source.digest)
    drawn = sample_strata(units, size=sizing.units, stratum=lambda unit: unit.stratum, rng=rng)
    groups = [list(unit.drafts) for unit in rng.shuffled(drawn)]
    controls = _add_controls(groups, request, rng=rng)
    tasks, keys = _number_items(groups)
    study = Study(
        name=request.name,
        kind=request.kind,
        dataset=source.name,
        dataset_digest=source.digest,
        variant=source.variant,
        run=run.manifest.run_id if run else "",
        seed=request.seed,
        annotators=request.annotators,
        sizing=(*sizing.sentences, *controls),
        tasks=tasks,
    )
    return study, keys


def _check_names(request: StudyRequest) -> None:
    if not re.fullmatch(STUDY_NAME, request.name):
        raise AnnotationError(
            f"{request.name!r} cannot name a study; use up to 40 small letters, digits, - and _, a letter or digit first."
        )
    names = request.annotators
    if len(names) < 2 or len(set(names)) < len(names):
        raise AnnotationError("Agreement takes two or more annotators with different names; give --annotator for each.")
    for name in names:
        if not NAME.fullmatch(name):
            raise AnnotationError(f"{name!r} cannot name an annotator; use up to 40 letters, digits, - and _.")


def _units(request: StudyRequest, source: Source, run: FinishedRun | None) -> list[SampleUnit]:
    if request.kind == "integrity":
        if run is None:
            raise AnnotationError("A study of integrity reads the dialogues of an evaluation; name its run with --run.")
        return integrity_units(dialogues(run, source))
    return exposure_units(source) if request.kind == "exposure" else truth_units(source, seed=request.seed)


def _add_controls(groups: list[list[ItemDraft]], request: StudyRequest, *, rng: SeededRandom) -> list[str]:
    """Turn a share of the items for which another value is sure to be wrong into controls, and say how many."""
    candidates: list[tuple[int, int]] = []
    for number, group in enumerate(groups):
        for index, draft in enumerate(group):
            if draft.others:
                candidates.append((number, index))
    share = request.target.controls
    controls = sorted(rng.sample(candidates, round(share * len(candidates))))  # in order, as each draws a value
    for number, index in controls:
        groups[number][index] = make_control(groups[number][index], kind=request.kind, rng=rng)
    if not share or not candidates:
        return []
    total = sum(map(len, groups))
    sure = f"{100 * share:g} % of the {len(candidates)} for which another value is sure to be wrong"
    return [f"{len(controls)} of {counted(total, 'item')} {is_or_are(len(controls))} planted: {sure}."]


def _number_items(groups: Sequence[Sequence[ItemDraft]]) -> tuple[tuple[AnnotationItem, ...], tuple[ItemKey, ...]]:
    tasks: list[AnnotationItem] = []
    keys: list[ItemKey] = []
    for number, group in enumerate(groups, start=1):
        for draft in group:
            item = f"item-{len(tasks) + 1:04d}"
            group_name = f"group-{number:04d}"
            tasks.append(
                AnnotationItem(item=item, group=group_name, passages=draft.passages, facts=draft.facts, labels=draft.labels)
            )
            keys.append(
                ItemKey(
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


def items_for(study: Study, sheet: AnswerSheet) -> list[AnnotationItem]:
    """Return the items in this annotator's own order: dialogues shuffled and the items of each, options too, ratings not."""
    rng = SeededRandom(study.seed, "order", study.name, sheet.annotator)
    groups: dict[str, list[AnnotationItem]] = {}
    for task in study.tasks:
        groups.setdefault(task.group, []).append(task)
    tasks: list[AnnotationItem] = []
    for group in rng.shuffled(list(groups)):
        tasks += rng.shuffled(groups[group])
    # Ratings are a scale, whose order means something.
    return list(map(partial(_with_shuffled_options, rng), tasks)) if study.kind == "truth" else tasks


def _with_shuffled_options(rng: SeededRandom, task: AnnotationItem) -> AnnotationItem:
    options = rng.shuffled(own_options(task))
    return task.model_copy(update={"labels": (*options, *task.labels[len(options) :])})
