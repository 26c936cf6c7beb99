"""Label Studio's formats: a study as tasks and labeling configuration, and its JSON export as answers."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from xml.etree import ElementTree

from pydantic import ValidationError

from pipelines.experiments.annotation.records import AnnotationError, AnnotationItem, AnswerSheet, ItemAnswer, Label, Study
from pipelines.experiments.annotation.units import guide

TASKS = "tasks.json"
CONFIG = "config.xml"
# The names of the controls in the configuration.
CONTROL = "label"
NOTE = "note"
TEXT = "dialogue"


def to_label_studio(study: Study) -> dict[str, str]:
    """Return file names with their content: tasks to import into a project, and the configuration of its interface."""
    tasks = [{"id": number, "data": _data(task)} for number, task in enumerate(study.tasks, start=1)]
    return {TASKS: json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", CONFIG: _config(study)}


def _data(task: AnnotationItem) -> dict[str, Any]:
    return {
        "item": task.item,
        TEXT: [{"author": passage.speaker or "text", "text": passage.text} for passage in task.passages],
        "facts": "\n".join(f"{fact.name}: {fact.value}" for fact in task.facts),
        "options": [{"value": option_text(label)} for label in task.labels],
    }


def option_text(label: Label) -> str:
    """Return a label as Label Studio shows it and gives it back: two options may begin alike, so their letter leads."""
    return f"{label.value}: {label.text}"


def _config(study: Study) -> str:
    """Choices come from each task's data, so that one configuration serves all studies."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Header", value=str(guide(study.kind)["title"]))
    ElementTree.SubElement(view, "Header", value=str(guide(study.kind)["task"]), size="5")
    ElementTree.SubElement(view, "Paragraphs", name=TEXT, value=f"${TEXT}", layout="dialogue", nameKey="author", textKey="text")
    ElementTree.SubElement(view, "Text", name="facts", value="$facts")
    ElementTree.SubElement(
        view, "Choices", name=CONTROL, toName=TEXT, value="$options", choice="single", required="true", layout="vertical"
    )
    ElementTree.SubElement(view, "TextArea", name=NOTE, toName=TEXT, placeholder="A note, if something is odd", rows="2")
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def from_label_studio(export: list[Any], *, study: Study) -> list[AnswerSheet]:
    """Return the answers in a JSON export, a sheet for each person who completed any. Raises AnnotationError.

    Label Studio's numbers identify people; no name or address is stored. Cancelled annotations are left out,
    and of several by one person the last counts.
    """
    tasks = {task.item: task for task in study.tasks}
    answers: dict[str, dict[str, ItemAnswer]] = {}
    try:
        for entry in cast(list[dict[str, Any]], export):
            task = tasks.get(str(entry["data"]["item"]))
            if task is None:
                raise AnnotationError(f"The export has the item {entry['data']['item']!r}, which {study.name!r} does not have.")
            for annotation in entry["annotations"]:
                answer = None if annotation.get("was_cancelled") else _answer(annotation["result"], task)
                if answer is not None:
                    answers.setdefault(_person(annotation), {})[task.item] = answer
    except (LookupError, TypeError, ValueError, AttributeError, ValidationError) as error:
        raise AnnotationError("This is no JSON export of Label Studio with the items of this study.") from error
    digest = study.sha256()
    sheets: list[AnswerSheet] = []
    for name, items in sorted(answers.items()):
        sheets.append(AnswerSheet(study=study.name, study_digest=digest, annotator=name, answers=items))
    return sheets


def _person(annotation: Mapping[str, Any]) -> str:
    """Return a name by number: `completed_by` is one, or an object with one, from version to version."""
    by: Any = annotation.get("completed_by", 0)
    number: Any = cast(dict[str, Any], by)["id"] if isinstance(by, dict) else by
    return f"ls-{int(number)}"


def _answer(result: list[dict[str, Any]], task: AnnotationItem) -> ItemAnswer | None:
    values = {option_text(label): label.value for label in task.labels}
    chosen = ""
    notes: list[str] = []
    for name, text in _texts_by_control(result):
        if name == CONTROL:
            chosen = text
        elif name == NOTE:
            notes.append(text)
    if not chosen:
        return None
    if chosen not in values:
        raise AnnotationError(f"{chosen[:60]!r} is no label of {task.item}; was the task changed in Label Studio?")
    return ItemAnswer(value=values[chosen], note="\n".join(notes)[:4000])  # as long as a note may be


def _texts_by_control(result: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the name of the control and each text that it holds."""
    for region in result:
        value = region["value"]
        for text in value.get("choices") or value.get("text") or ():
            yield str(region["from_name"]), str(text)
