"""From answers to a study's result: who agrees with whom and with the release, and what is left to settle."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assets.records.annotation import AnnotatorLine, Level, StudyKind, StudyResult
from assets.records.estimate import Estimate
from assets.reporting.intervals import Metric, Sample, Tallies, share
from pipelines.experiments.annotation.agreement import Rated, ac1, alpha, raw_agreement, tallied
from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.records import AnswerSheet, Key, Study
from pipelines.experiments.annotation.units import BEST, NONE

LEVELS: dict[StudyKind, Level] = {"exposure": "ordinal", "integrity": "ordinal", "truth": "nominal"}


@dataclass(frozen=True)
class Collected:
    """A study with all that was answered."""

    study: Study
    keys: Mapping[str, Key]
    sheets: tuple[AnswerSheet, ...]

    @property
    def raters(self) -> list[AnswerSheet]:
        """The annotators who answered anything, without the adjudicator."""
        return [sheet for sheet in self.sheets if sheet.role == "annotator" and sheet.answers]

    @property
    def categories(self) -> list[str]:
        """All labels of the study, ratings in order."""
        labels = {label.value for task in self.study.tasks for label in task.labels}
        return sorted(labels - {NONE}) + ([NONE] if NONE in labels else [])

    def votes(self, item: str) -> dict[str, str]:
        """The annotators' labels of one item, by name."""
        return {sheet.annotator: sheet.answers[item].value for sheet in self.raters if item in sheet.answers}

    def shared(self) -> list[str]:
        """The items that two or more rated, without the planted ones, which say something about annotators alone."""
        return [item for item in self.answered() if len(self.votes(item)) > 1]

    def answered(self) -> list[str]:
        """The items that anybody rated, without the planted ones."""
        return [task.item for task in self.study.tasks if not self.keys[task.item].control and self.votes(task.item)]


def collected(study: Study, keys: Mapping[str, Key], sheets: Sequence[AnswerSheet]) -> Collected:
    """Put them together. Raises AnnotationError for answers to another study, and where nothing can be compared."""
    digest = study.sha256()
    for sheet in sheets:
        if sheet.study_digest != digest:
            raise AnnotationError(f"The answers of {sheet.annotator!r} are to other items than those of {study.name!r}.")
    found = Collected(study, keys, tuple(sheets))
    if not found.shared():
        raise AnnotationError(f"No item of {study.name!r} is rated by two annotators yet, so there is no agreement to tell.")
    return found


def final_label(found: Collected, item: str) -> str | None:
    """The adjudicator's label, else what more than half of the annotators gave; None: it is disputed."""
    for sheet in found.sheets:
        if sheet.role == "adjudicator" and item in sheet.answers:
            return sheet.answers[item].value
    votes = Counter(found.votes(item).values())
    label, count = votes.most_common(1)[0] if votes else ("", 0)
    return label if 2 * count > votes.total() else None


def disputed(found: Collected) -> list[str]:
    """The items on which the annotators are not all of one mind."""
    return [item for item in found.shared() if len(set(found.votes(item).values())) > 1]


def result_of(found: Collected) -> StudyResult:
    """All figures, with intervals over users."""
    study, shared = found.study, found.shared()
    rated = [Rated(found.keys[item].user_id, tuple(found.votes(item).values())) for item in found.answered()]
    sample = Sample.of(tallied(rated, categories=found.categories), seed=study.seed)
    level, apart = LEVELS[study.kind], disputed(found)
    settled = {item for sheet in found.sheets if sheet.role == "adjudicator" for item in sheet.answers}
    return StudyResult(
        study=study.name,
        kind=study.kind,
        dataset=study.dataset,
        dataset_digest=study.dataset_digest,
        run=study.run,
        items=len(shared),
        users=len({found.keys[item].user_id for item in shared}),
        annotators=tuple(_line(found, sheet) for sheet in found.raters),
        raw=sample.estimate(raw_agreement),
        ac1=sample.estimate(ac1(found.categories)),
        alpha=sample.estimate(alpha(found.categories, level=level)),
        level=level,
        score=_mean([(found.keys[item].user_id, value) for item in shared for value in _scores(found, item)], seed=study.seed),
        disputed=len(apart),
        adjudicated=len(settled & set(apart)),
        sizing=study.sizing,
    )


def _scores(found: Collected, item: str) -> list[float]:
    """What each annotator's label is worth on a scale from 0 to 1."""
    key, kind = found.keys[item], found.study.kind
    if kind == "truth":
        return [float(value == key.expected) for value in found.votes(item).values()]
    return [1 - abs(int(value) - int(BEST[kind])) / 2 for value in found.votes(item).values()]


def _line(found: Collected, sheet: AnswerSheet) -> AnnotatorLine:
    given = [(found.keys[item], answer.value) for item, answer in sheet.answers.items()]
    controls = [(key, value) for key, value in given if key.control]
    right = [(key.user_id, float(value == key.expected)) for key, value in given if not key.control]
    return AnnotatorLine(
        name=sheet.annotator,
        kind=sheet.kind,
        model=sheet.model,
        answered=len(given),
        agrees=_mean(right, seed=found.study.seed),
        controls=len(controls),
        caught=sum(value != BEST[found.study.kind] for _, value in controls),
    )


def _mean(values: Sequence[tuple[str, float]], *, seed: int) -> Estimate:
    """The mean of values of users, with its interval over users."""
    users = tuple(dict.fromkeys(user for user, _ in values))
    sums, counts = np.zeros((len(users), 1)), np.zeros((len(users), 1))
    for user, value in values:
        sums[users.index(user), 0] += value
        counts[users.index(user), 0] += 1
    metric: Metric = share("sum", "count")
    if not users:
        return Estimate(value=None, low=None, high=None)
    return Sample.of(Tallies(users, {"sum": sums, "count": counts}), seed=seed).estimate(metric)
