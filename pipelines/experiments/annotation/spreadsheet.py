"""Spreadsheets: a study as a CSV file for each annotator, and a filled-in file as answers."""

import csv
import io

from pipelines.experiments.annotation.records import AnnotationError, AnnotationItem, AnswerSheet, ItemAnswer, Study
from pipelines.experiments.annotation.study import items_for
from pipelines.experiments.annotation.units import guide

COLUMNS = ("study", "item", "text", "facts", "labels", "label", "note")
# A spreadsheet would calculate a cell that begins with one of these, and its words are a model's.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
NOTE_CHARACTERS = 4000


def to_csv(study: Study, sheet: AnswerSheet) -> str:
    """Return the annotator's items in their own order, with the answers given so far. No column tells what is right."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for task in items_for(study, sheet):
        answer = sheet.answers.get(task.item, ItemAnswer(value=""))
        shown = (_passages(task), _facts(task), _labels(task), answer.value, answer.note)
        writer.writerow((sheet.study_digest[:12], task.item, *map(_plain, shown)))
    return text.getvalue()


def instructions(study: Study) -> str:
    """Return what annotators are told, as a text beside their files."""
    words = guide(study.kind)
    return f"{words['title']}\n\n{words['task']}\n\nWrite the label's first word into the column `label`; leave out none.\n"


def from_csv(content: str, *, study: Study) -> dict[str, ItemAnswer]:
    """Return the answers of a file that `to_csv` wrote; rows without a label are left open. Raises AnnotationError."""
    # A semicolon where the spreadsheet's language writes decimals with a comma.
    delimiter = max(",;\t", key=content.partition("\n")[0].count)
    answers: dict[str, ItemAnswer] = {}
    try:
        for row in csv.DictReader(io.StringIO(content), delimiter=delimiter, strict=True):
            if row["study"] != study.sha256()[:12]:
                raise AnnotationError("The rows are of another study, or their column `study` was changed.")
            label = row["label"].strip()
            if label:
                answers[row["item"]] = ItemAnswer(value=label, note=row["note"].removeprefix("'")[:NOTE_CHARACTERS])
    except (KeyError, AttributeError, csv.Error) as error:
        raise AnnotationError(f"This is no sheet of a study: it needs the columns {', '.join(COLUMNS)}.") from error
    return answers


def _passages(task: AnnotationItem) -> str:
    lines: list[str] = []
    for passage in task.passages:
        lines.append(f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text)
    return "\n".join(lines)


def _facts(task: AnnotationItem) -> str:
    return "\n".join(f"{fact.name}: {fact.value}" for fact in task.facts)


def _labels(task: AnnotationItem) -> str:
    return "\n".join(f"{label.value}: {label.text}" for label in task.labels)


def _plain(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
