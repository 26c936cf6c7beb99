"""What a study leads to: its result beside the variant's versions, and errata for what annotators found wrong."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from assets.records.annotation import StudyResult
from assets.records.erratum import Erratum, Vote
from dataset_card.errata.annotations import STUDIES, read_studies, studies_bytes
from dataset_card.errata.apply import ERRATA, ErrataError, errata_text, read_errata
from dataset_card.release.writers import write_durably
from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.records import AnswerSheet, Key
from pipelines.experiments.annotation.results import Collected, disputed, final_label, result_of
from pipelines.experiments.annotation.units import NONE


@dataclass(frozen=True)
class Settled:
    """What was written: the result, errata that are new, and how many items still wait for an adjudicator."""

    result: StudyResult
    errata: tuple[Erratum, ...]
    waiting: int


def settle(found: Collected, *, place: Path) -> Settled:
    """Put result and errata where the variant's next release reads them. What stands there already stays as it is.

    Raises AnnotationError for a file there that cannot be read.
    """
    result = result_of(found)
    try:
        others = [one for one in read_studies(place / STUDIES) if one.study != result.study]
        there = read_errata(place / ERRATA)
    except ErrataError as error:
        raise AnnotationError(str(error)) from error
    known = {_identity(one) for one in there}
    # One for each item of the release: a question may have been judged in several situations.
    new = tuple({_identity(one): one for one in drafted(found) if _identity(one) not in known}.values())
    write_durably(place / STUDIES, studies_bytes(sorted([*others, result], key=lambda one: one.study)))
    if new:
        write_durably(place / ERRATA, _with(place / ERRATA, new).encode())
    return Settled(result, new, sum(final_label(found, item) is None for item in disputed(found)))


def _with(path: Path, new: tuple[Erratum, ...]) -> str:
    """The file's own words, which people may have edited and commented, and the new ones below them."""
    if not path.is_file() or not yaml.safe_load(path.read_text(encoding="utf-8")):
        return errata_text(new)
    lines = [line for line in errata_text(new).splitlines() if not line.startswith("#")]
    return path.read_text(encoding="utf-8").rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def drafted(found: Collected) -> Iterator[Erratum]:
    """One for each item whose final label is not what the release says. Dialogues are the run's, and make none.

    A question that people alone would answer otherwise is left out; what hangs on a model, or can only be reworded, is noted.
    """
    if found.study.kind == "integrity":
        return
    for item in found.shared():
        key, label = found.keys[item], final_label(found, item)
        if label is not None and label != key.expected:
            yield _erratum(found, key, label)


def _erratum(found: Collected, key: Key, label: str) -> Erratum:
    votes = tuple(
        Vote(annotator=sheet.annotator, kind=sheet.kind, value=sheet.answers[key.item].value, note=sheet.answers[key.item].note)
        for sheet in found.sheets
        if key.item in sheet.answers
    )
    return Erratum(
        user_id=key.user_id,
        period=key.period if key.session is not None else None,
        session=key.session,
        question_id=key.question_id,
        variable=key.variable,
        action="exclude" if key.question_id and _by_people(found, key.item) == label else "note",
        reason=_reason(key, label),
        was=key.text,
        study=found.study.name,
        votes=votes,
    )


def _by_people(found: Collected, item: str) -> str | None:
    """The item's final label if no model had filled in for anybody."""
    people = tuple(sheet for sheet in found.sheets if sheet.kind == "person")
    return final_label(replace(found, sheets=people), item)


def _reason(key: Key, label: str) -> str:
    if key.session is not None:
        return f"Annotators rate how far the opening tells {key.variable} with {label} of {key.expected}."
    if label == NONE:
        return f"In period {key.period}, annotators find that no option fits, or more than one."
    return f"In period {key.period}, annotators choose another option than the release."


def _identity(erratum: Erratum) -> tuple[object, ...]:
    return (erratum.user_id, erratum.period, erratum.session, erratum.question_id, erratum.variable, erratum.was)


def adjudicator_sheet(found: Collected, name: str) -> AnswerSheet:
    """An empty sheet with the disputed items alone, for somebody who was no annotator. Raises AnnotationError."""
    if name in found.study.annotators:
        raise AnnotationError(f"{name!r} is an annotator of this study; an adjudicator has to be somebody else.")
    apart = disputed(found)
    if not apart:
        raise AnnotationError(f"The annotators of {found.study.name!r} agree on every item; there is nothing to adjudicate.")
    digest = found.study.sha256()
    return AnswerSheet(study=found.study.name, study_digest=digest, annotator=name, role="adjudicator", items=tuple(apart))
