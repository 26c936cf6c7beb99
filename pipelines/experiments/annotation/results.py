"""From answers to a study's result: agreement, its report in words, and errata for what annotators found wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from assets.records.annotation import AnnotatorLine, Level, StudyKind, StudyResult
from assets.records.erratum import Erratum, Vote
from assets.records.estimate import Estimate, percents, shown
from assets.reporting.intervals import Metric, Sample, Tallies, share
from assets.reporting.plurals import counted
from dataset_card.errata.files import ERRATA, STUDIES, ErrataError, errata_text, read_errata, read_studies, studies_bytes
from dataset_card.release.writers import write_durably
from pipelines.experiments.annotation.agreement import Rated, ac1, alpha, raw_agreement, tally
from pipelines.experiments.annotation.records import AnnotationError, AnswerSheet, ItemKey, Study
from pipelines.experiments.annotation.units import BEST, NONE

LEVELS: dict[StudyKind, Level] = {"exposure": "ordinal", "integrity": "ordinal", "truth": "nominal"}


@dataclass(frozen=True)
class StudyAnswers:
    """A study with all that was answered."""

    study: Study
    keys: Mapping[str, ItemKey]
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


def collect_answers(study: Study, keys: Mapping[str, ItemKey], sheets: Sequence[AnswerSheet]) -> StudyAnswers:
    """The study with its answers. Raises AnnotationError for answers to another study, and where nothing can be compared."""
    digest = study.sha256()
    for sheet in sheets:
        if sheet.study_digest != digest:
            raise AnnotationError(f"The answers of {sheet.annotator!r} are to other items than those of {study.name!r}.")
    answers = StudyAnswers(study, keys, tuple(sheets))
    if not answers.shared():
        raise AnnotationError(f"No item of {study.name!r} is rated by two annotators yet, so there is no agreement to tell.")
    return answers


def final_label(answers: StudyAnswers, item: str) -> str | None:
    """The adjudicator's label, else what more than half of the annotators gave; None: it is disputed."""
    for sheet in answers.sheets:
        if sheet.role == "adjudicator" and item in sheet.answers:
            return sheet.answers[item].value
    votes = Counter(answers.votes(item).values())
    label, count = votes.most_common(1)[0] if votes else ("", 0)
    return label if 2 * count > votes.total() else None


def disputed(answers: StudyAnswers) -> list[str]:
    """The items that annotators label differently."""
    return [item for item in answers.shared() if len(set(answers.votes(item).values())) > 1]


def result_of(answers: StudyAnswers) -> StudyResult:
    """All figures, with intervals over users."""
    study, shared = answers.study, answers.shared()
    rated = [Rated(answers.keys[item].user_id, tuple(answers.votes(item).values())) for item in answers.answered()]
    sample = Sample.of(tally(rated, categories=answers.categories), seed=study.seed)
    level, apart = LEVELS[study.kind], disputed(answers)
    settled = {item for sheet in answers.sheets if sheet.role == "adjudicator" for item in sheet.answers}
    values = [(answers.keys[item].user_id, value) for item in shared for value in _scores(answers, item)]
    return StudyResult(
        study=study.name,
        kind=study.kind,
        dataset=study.dataset,
        dataset_digest=study.dataset_digest,
        run=study.run,
        items=len(shared),
        users=len({answers.keys[item].user_id for item in shared}),
        annotators=tuple(_annotator_line(answers, sheet) for sheet in answers.raters),
        raw=sample.estimate(raw_agreement),
        ac1=sample.estimate(ac1(answers.categories)),
        alpha=sample.estimate(alpha(answers.categories, level=level)),
        level=level,
        score=_mean(values, seed=study.seed),
        disputed=len(apart),
        adjudicated=len(settled & set(apart)),
        sizing=study.sizing,
    )


def _scores(answers: StudyAnswers, item: str) -> list[float]:
    """The score of each annotator's label, from 0 to 1."""
    key, kind = answers.keys[item], answers.study.kind
    if kind == "truth":
        return [float(value == key.expected) for value in answers.votes(item).values()]
    return [1 - abs(int(value) - int(BEST[kind])) / 2 for value in answers.votes(item).values()]


def _annotator_line(answers: StudyAnswers, sheet: AnswerSheet) -> AnnotatorLine:
    labels = [(answers.keys[item], answer.value) for item, answer in sheet.answers.items()]
    controls = [(key, value) for key, value in labels if key.control]
    right = [(key.user_id, float(value == key.expected)) for key, value in labels if not key.control]
    return AnnotatorLine(
        name=sheet.annotator,
        kind=sheet.kind,
        model=sheet.model,
        answered=len(labels),
        agrees=_mean(right, seed=answers.study.seed),
        controls=len(controls),
        caught=sum(value != BEST[answers.study.kind] for _, value in controls),
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


SCORES = {
    "exposure": "Exposure score (mean rating, from 0 to 1)",
    "integrity": "Consistency score (1: no conflict anywhere)",
    "truth": "Right options chosen",
}


def report(result: StudyResult) -> str:
    """All figures with their intervals over users."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: StudyResult) -> Iterator[str]:
    yield f"# {result.study}: {result.kind} on {result.dataset}{f', run {result.run}' if result.run else ''}"
    yield ""
    if result.dry_run:
        yield "**Dry run:** a model filled in for at least one person. It tells that the tooling works, nothing of the data."
        yield ""
    was = "was" if result.items == 1 else "were"
    rated = f"{counted(result.items, 'item')} of {counted(result.users, 'user')} {was} rated by two or more."
    yield f"{rated} Intervals are 95 %, over users."
    yield ""
    yield "| figure | value |"
    yield "|---|---|"
    yield f"| {SCORES[result.kind]} | {percents(result.score)} |"
    yield f"| Raw agreement | {percents(result.raw)} |"
    yield f"| Gwet's AC1 | {shown(result.ac1)} |"
    yield f"| Krippendorff's alpha ({result.level}) | {_alpha(result.alpha)} |"
    yield ""
    yield "| annotator | | rated | as the release says | planted wrong labels found |"
    yield "|---|---|---:|---:|---:|"
    for line in result.annotators:
        who = f"model {line.model}" if line.kind == "model" else "person"
        caught = f"{line.caught} of {line.controls}" if line.controls else "none planted"
        yield f"| {line.name} | {who} | {line.answered} | {percents(line.agrees)} | {caught} |"
    yield ""
    yield f"Items on which they are not of one mind: {result.disputed}; adjudicated of these: {result.adjudicated}."
    yield ""
    yield from (f"- {sentence}" for sentence in result.sizing)


def _alpha(estimate: Estimate) -> str:
    return "does not exist: all labels are alike" if estimate.value is None else shown(estimate)


def progress(answers: StudyAnswers) -> str:
    """How far each annotator is, in a sentence."""
    parts = [f"{sheet.annotator} {len(sheet.answers)} of {len(sheet.items or answers.study.tasks)}" for sheet in answers.sheets]
    return f"{answers.study.name}: {', '.join(parts)}."


@dataclass(frozen=True)
class StudyOutcome:
    """What was written: the result, errata that are new, and how many items still wait for an adjudicator."""

    result: StudyResult
    errata: tuple[Erratum, ...]
    waiting: int


def write_outcome(answers: StudyAnswers, *, folder: Path) -> StudyOutcome:
    """Write result and errata where the variant's next release reads them. Existing errata stay as they are.

    Raises AnnotationError for an existing file that cannot be read.
    """
    result = result_of(answers)
    try:
        others = [study for study in read_studies(folder / STUDIES) if study.study != result.study]
        existing = read_errata(folder / ERRATA)
    except ErrataError as error:
        raise AnnotationError(str(error)) from error
    known = {_identity(erratum) for erratum in existing}
    # One erratum for each item of the release: a question may have been judged in several situations.
    drafts = {_identity(erratum): erratum for erratum in draft_errata(answers)}
    new = tuple(erratum for identity, erratum in drafts.items() if identity not in known)
    write_durably(folder / STUDIES, studies_bytes(sorted([*others, result], key=lambda study: study.study)))
    if new:
        write_durably(folder / ERRATA, _append_errata(folder / ERRATA, new).encode())
    return StudyOutcome(result, new, sum(final_label(answers, item) is None for item in disputed(answers)))


def _append_errata(path: Path, new: tuple[Erratum, ...]) -> str:
    """The file's text, which people may have edited and commented, with the new errata below."""
    if not path.is_file() or not yaml.safe_load(path.read_text(encoding="utf-8")):
        return errata_text(new)
    lines = [line for line in errata_text(new).splitlines() if not line.startswith("#")]
    return path.read_text(encoding="utf-8").rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def draft_errata(answers: StudyAnswers) -> Iterator[Erratum]:
    """One for each item whose final label is not what the release says. Dialogues are the run's, and make none.

    A question that people alone would answer otherwise is left out; what hangs on a model, or can only be reworded, is noted.
    """
    if answers.study.kind == "integrity":
        return
    for item in answers.shared():
        key, label = answers.keys[item], final_label(answers, item)
        if label is not None and label != key.expected:
            yield _erratum(answers, key, label)


def _erratum(answers: StudyAnswers, key: ItemKey, label: str) -> Erratum:
    votes = tuple(
        Vote(annotator=sheet.annotator, kind=sheet.kind, value=sheet.answers[key.item].value, note=sheet.answers[key.item].note)
        for sheet in answers.sheets
        if key.item in sheet.answers
    )
    return Erratum(
        user_id=key.user_id,
        period=key.period if key.session is not None else None,
        session=key.session,
        question_id=key.question_id,
        variable=key.variable,
        action="exclude" if key.question_id and _by_people(answers, key.item) == label else "note",
        reason=_reason(key, label),
        was=key.text,
        study=answers.study.name,
        votes=votes,
    )


def _by_people(answers: StudyAnswers, item: str) -> str | None:
    """The item's final label if no model had filled in for anybody."""
    people = tuple(sheet for sheet in answers.sheets if sheet.kind == "person")
    return final_label(replace(answers, sheets=people), item)


def _reason(key: ItemKey, label: str) -> str:
    if key.session is not None:
        return f"Annotators rate how far the opening tells {key.variable} with {label} of {key.expected}."
    if label == NONE:
        return f"In period {key.period}, annotators find that no option fits, or more than one."
    return f"In period {key.period}, annotators choose another option than the release."


def _identity(erratum: Erratum) -> tuple[object, ...]:
    return (erratum.user_id, erratum.period, erratum.session, erratum.question_id, erratum.variable, erratum.was)


def adjudicator_sheet(answers: StudyAnswers, name: str) -> AnswerSheet:
    """An empty sheet with the disputed items alone, for somebody who was no annotator. Raises AnnotationError."""
    if name in answers.study.annotators:
        raise AnnotationError(f"{name!r} is an annotator of this study; an adjudicator has to be somebody else.")
    apart = disputed(answers)
    if not apart:
        raise AnnotationError(f"The annotators of {answers.study.name!r} agree on every item; there is nothing to adjudicate.")
    digest = answers.study.sha256()
    return AnswerSheet(study=answers.study.name, study_digest=digest, annotator=name, role="adjudicator", items=tuple(apart))
