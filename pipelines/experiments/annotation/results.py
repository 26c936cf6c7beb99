"""From answers to a study's result: agreement, its report in words, and errata for what annotators found wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from assets.records.annotation import AnnotatorLine, StudyKind, StudyResult
from assets.records.erratum import Erratum, Vote
from assets.records.estimate import NOTHING, Estimate, interval_note, percents, with_interval
from assets.reporting.intervals import Tallies, quotient
from assets.reporting.plurals import counted
from dataset_card.diff.errata_files import ERRATA, STUDIES, ErrataError, errata_text, read_errata, read_studies, studies_bytes
from dataset_card.release.writers import write_durably
from pipelines.experiments.annotation.agreement import Rated, ac1, raw_agreement, tally
from pipelines.experiments.annotation.records import AnnotationError, AnswerSheet, ItemKey, Study
from pipelines.experiments.annotation.units import BEST, NONE


@dataclass(frozen=True)
class StudyAnswers:
    """A study with all that was answered."""

    study: Study
    keys: Mapping[str, ItemKey]
    sheets: Sequence[AnswerSheet]

    @property
    def raters(self) -> list[AnswerSheet]:
        """The annotators who answered anything."""
        return [sheet for sheet in self.sheets if sheet.answers]

    @property
    def categories(self) -> list[str]:
        """All labels of the study, ratings in order."""
        labels: set[str] = set()
        for task in self.study.tasks:
            for label in task.labels:
                labels.add(label.value)
        return sorted(labels, key=lambda label: (label == NONE, label))

    def votes(self, item: str) -> list[str]:
        """Return the annotators' labels of one item, in the order of the sheets."""
        return [sheet.answers[item].value for sheet in self.raters if item in sheet.answers]

    def items_rated_by(self, *, by: int) -> list[str]:
        """Return the items that so many or more rated, without the planted ones, which say something of annotators alone."""
        items: list[str] = []
        for task in self.study.tasks:
            if not self.keys[task.item].control and len(self.votes(task.item)) >= by:
                items.append(task.item)
        return items


def collect_answers(study: Study, keys: Mapping[str, ItemKey], sheets: Sequence[AnswerSheet]) -> StudyAnswers:
    """Return the study with its answers. Raises AnnotationError for answers to another study, or where none compare."""
    digest = study.sha256()
    for sheet in sheets:
        if sheet.study_digest != digest:
            raise AnnotationError(f"The answers of {sheet.annotator!r} are to other items than those of {study.name!r}.")
    answers = StudyAnswers(study, keys, sheets)
    if not answers.items_rated_by(by=2):
        raise AnnotationError(f"No item of {study.name!r} is rated by two annotators yet, so there is no agreement to report.")
    return answers


def final_label(answers: StudyAnswers, item: str) -> str | None:
    """Return what more than half of the annotators gave; None: it is disputed."""
    votes = answers.votes(item)
    for label, count in Counter(votes).most_common(1):
        if 2 * count > len(votes):
            return label
    return None


def disputed_items(answers: StudyAnswers) -> list[str]:
    """Return the items that annotators label differently."""
    return [item for item in answers.items_rated_by(by=2) if len(set(answers.votes(item))) > 1]


def result_of(answers: StudyAnswers) -> StudyResult:
    """All figures, with intervals over users."""
    study = answers.study
    shared = answers.items_rated_by(by=2)
    users = [answers.keys[item].user_id for item in shared]
    rated = [Rated(answers.keys[item].user_id, tuple(answers.votes(item))) for item in answers.items_rated_by(by=1)]
    tallies = tally(rated, categories=answers.categories)
    values: list[tuple[str, float]] = []
    for user, item in zip(users, shared, strict=True):
        for label in answers.votes(item):
            values.append((user, _score(label, answers.keys[item], kind=study.kind)))
    return StudyResult(
        study=study.name,
        kind=study.kind,
        dataset=study.dataset,
        dataset_digest=study.dataset_digest,
        run=study.run,
        items=len(shared),
        users=len(set(users)),
        annotators=tuple(map(partial(_annotator_line, answers), answers.raters)),
        raw=tallies.estimate(raw_agreement),
        ac1=tallies.estimate(ac1(answers.categories)),
        score=_mean(values),
        disputed=len(disputed_items(answers)),
        sizing=study.sizing,
    )


def _score(label: str, key: ItemKey, *, kind: StudyKind) -> float:
    """Return the score of one label, from 0 to 1."""
    if kind == "truth":
        return float(label == key.expected)
    return 1 - abs(int(label) - int(BEST[kind])) / 2


def _annotator_line(answers: StudyAnswers, sheet: AnswerSheet) -> AnnotatorLine:
    controls = caught = 0
    right: list[tuple[str, float]] = []
    for item, answer in sheet.answers.items():
        key = answers.keys[item]
        if key.control:
            controls += 1
            caught += answer.value != BEST[answers.study.kind]
        else:
            right.append((key.user_id, float(answer.value == key.expected)))
    return AnnotatorLine(
        name=sheet.annotator,
        answered=len(sheet.answers),
        agrees=_mean(right),
        controls=controls,
        caught=caught,
    )


def _mean(values: Sequence[tuple[str, float]]) -> Estimate:
    """Return the mean of values of users, with its interval over users."""
    by_user: dict[str, dict[str, float]] = {}
    for user, value in values:
        own = by_user.setdefault(user, {"sum": 0.0, "count": 0.0})
        own["sum"] += value
        own["count"] += 1
    if not by_user:
        return NOTHING
    return Tallies.of(by_user, names=("sum", "count")).estimate(quotient("sum", "count"))


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
    was = "was" if result.items == 1 else "were"
    rated = f"{counted(result.items, 'item')} of {counted(result.users, 'user')} {was} rated by two or more."
    yield f"{rated} {interval_note(result.users, 'user')}"
    yield ""
    yield "| figure | value |"
    yield "|---|---|"
    yield f"| {SCORES[result.kind]} | {percents(result.score)} |"
    yield f"| Raw agreement | {percents(result.raw)} |"
    yield f"| Gwet's AC1 | {with_interval(result.ac1)} |"
    yield ""
    yield "| annotator | rated | as the release says | planted wrong labels found |"
    yield "|---|---:|---:|---:|"
    for line in result.annotators:
        caught = f"{line.caught} of {line.controls}" if line.controls else "none planted"
        yield f"| {line.name} | {line.answered} | {percents(line.agrees)} | {caught} |"
    yield ""
    yield f"Items on which annotators differ: {result.disputed}."
    yield ""
    for sentence in result.sizing:
        yield f"- {sentence}"


def progress(answers: StudyAnswers) -> str:
    """Return a sentence on how far each annotator is."""
    parts: list[str] = []
    for sheet in answers.sheets:
        parts.append(f"{sheet.annotator} {len(sheet.answers)} of {len(answers.study.tasks)}")
    return f"{answers.study.name}: {', '.join(parts)}."


@dataclass(frozen=True)
class StudyOutcome:
    """The files' content: the result, errata that are new, and how many items have no label of a majority."""

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
    # One erratum for each item of the release: a question may have been judged in several situations.
    drafts = {_identity(erratum): erratum for erratum in draft_errata(answers)}
    for erratum in existing:
        drafts.pop(_identity(erratum), None)
    new = tuple(drafts.values())
    write_durably(folder / STUDIES, studies_bytes(sorted([*others, result], key=lambda study: study.study)))
    if new:
        write_durably(folder / ERRATA, _append_errata(folder / ERRATA, new).encode())
    waiting = sum(final_label(answers, item) is None for item in disputed_items(answers))
    return StudyOutcome(result, new, waiting)


def _append_errata(path: Path, new: tuple[Erratum, ...]) -> str:
    """Return the file's text, which people may have edited and commented, with the new errata below."""
    if not path.is_file() or not yaml.safe_load(path.read_text(encoding="utf-8")):
        return errata_text(new)
    lines = [line for line in errata_text(new).splitlines() if not line.startswith("#")]
    return path.read_text(encoding="utf-8").rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def draft_errata(answers: StudyAnswers) -> Iterator[Erratum]:
    """Yield an erratum for each item whose final label is not what the release says. Dialogues are the run's, and make none.

    A question that people answer otherwise is left out; what can only be reworded is noted.
    """
    if answers.study.kind == "integrity":
        return
    for item in answers.items_rated_by(by=2):
        key = answers.keys[item]
        label = final_label(answers, item)
        if label is not None and label != key.expected:
            yield _erratum(answers, key, label)


def _erratum(answers: StudyAnswers, key: ItemKey, label: str) -> Erratum:
    votes: list[Vote] = []
    for sheet in answers.sheets:
        answer = sheet.answers.get(key.item)
        if answer is not None:
            votes.append(Vote(annotator=sheet.annotator, value=answer.value, note=answer.note))
    return Erratum(
        user_id=key.user_id,
        period=key.period if key.session is not None else None,
        session=key.session,
        question_id=key.question_id,
        variable=key.variable,
        action="exclude" if key.question_id else "note",
        reason=_reason(key, label),
        was=key.text,
        study=answers.study.name,
        votes=tuple(votes),
    )


def _reason(key: ItemKey, label: str) -> str:
    if key.session is not None:
        return f"Annotators rate how far the opening tells {key.variable} with {label} of {key.expected}."
    if label == NONE:
        return f"In period {key.period}, annotators find that no option fits, or more than one."
    return f"In period {key.period}, annotators choose another option than the release."


def _identity(erratum: Erratum) -> tuple[object, ...]:
    return (erratum.user_id, erratum.period, erratum.session, erratum.question_id, erratum.variable, erratum.was)
