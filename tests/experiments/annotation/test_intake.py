"""Answers from files: what fits the study is kept, everything else is refused in one sentence."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pipelines.experiments.annotation.folder import StudyFolder, import_answers
from pipelines.experiments.annotation.label_studio import CONFIG, TASKS, to_label_studio
from pipelines.experiments.annotation.records import AnnotationError, ItemAnswer
from pipelines.experiments.annotation.spreadsheet import to_csv
from tests.experiments.annotation.making import begin_study, source
from tests.support import scenario

EXPORT = Path("export.json")


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return begin_study(tmp_path)


def completed(folder: StudyFolder, *people: int, index: int = 0, **changes: Any) -> bytes:
    """Label Studio's export: each of these people took the option at this index for every item."""
    tasks: list[dict[str, Any]] = json.loads(to_label_studio(folder.study())[TASKS])
    for task in tasks:
        choice = {"from_name": "label", "to_name": "dialogue", "type": "choices"}
        note = {"from_name": "note", "to_name": "dialogue", "type": "textarea", "value": {"text": ["odd"]}}
        result = [{**choice, "value": {"choices": [task["data"]["options"][index]["value"]]}}, note]
        task["annotations"] = [
            {"completed_by": person, "result": result, "was_cancelled": False, **changes} for person in people
        ]
    return json.dumps(tasks).encode()


def filled(folder: StudyFolder, **labels: str) -> bytes:
    """Anna's sheet with these labels, and a note at each."""
    rows: list[dict[str, str]] = []
    for row in csv.DictReader(io.StringIO(to_csv(folder.study(), folder.sheet("anna")))):
        label = labels.get(row["item"].replace("-", "_"), "")
        rows.append({**row, "label": label, "note": "odd" if label else ""})
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=rows[0], delimiter=";")  # as a German spreadsheet writes it
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8-sig")


def test_a_sheet_is_taken_in_beside_what_is_there(folder: StudyFolder) -> None:
    folder.put(folder.sheet("anna"), {"item-0001": ItemAnswer(value="a")})
    (sheet,) = import_answers(folder, Path("anna.csv"), filled(folder, item_0002="none"))
    assert sheet.answers == {"item-0001": ItemAnswer(value="a"), "item-0002": ItemAnswer(value="none", note="odd")}
    assert folder.sheet("anna") == sheet


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("eve.csv", ("", ""), "no part in the study"),
        ("anna.csv", ("item-0001", "item-9999"), "no item 'item-9999'"),
        ("anna.csv", (";none;", ";z;"), "'z' is no label of item-0001"),
        ("anna.csv", ("label", "answer"), "needs the columns study, item"),
        ("anna.csv", ("odd", '"'), "needs the columns study, item"),
    ],
)
def test_a_sheet_that_does_not_fit_is_refused_and_nothing_is_kept(
    folder: StudyFolder, name: str, change: tuple[str, str], message: str
) -> None:
    content = filled(folder, item_0001="none").decode("utf-8-sig").replace(*change)
    with pytest.raises(AnnotationError, match=message):
        import_answers(folder, Path(name), content.encode())
    assert folder.sheet("anna").answers == {}


def test_a_sheet_of_another_study_or_in_another_encoding_is_refused(tmp_path: Path, folder: StudyFolder) -> None:
    other = filled(begin_study(tmp_path / "other", seed=7), item_0001="none")
    with pytest.raises(AnnotationError, match="another study"):
        import_answers(folder, Path("anna.csv"), other)
    with pytest.raises(AnnotationError, match="not UTF-8"):
        import_answers(folder, Path("anna.csv"), "Zoë".encode("latin-1"))


def test_no_cell_of_a_sheet_is_a_formula(tmp_path: Path) -> None:
    whole = scenario.episode()
    question = scenario.varied(whole.questions[0], query='=HYPERLINK("http://evil.example")')
    hostile = source(scenario.varied(whole, questions=(question, *whole.questions[1:])))
    folder = begin_study(tmp_path, source=hostile)
    cells = [cell for row in csv.reader(io.StringIO(to_csv(folder.study(), folder.sheet("anna")))) for cell in row]
    assert any("evil.example" in cell for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)


def test_label_studio_gets_every_text_as_data_and_one_configuration(folder: StudyFolder) -> None:
    files = to_label_studio(folder.study())
    tasks, config = json.loads(files[TASKS]), ElementTree.fromstring(files[CONFIG])
    names = [element.get("value", "").removeprefix("$") for element in config if element.get("value", "").startswith("$")]
    assert len(tasks) == 10
    assert names == ["dialogue", "facts", "options"]
    assert all(set(names) <= set(task["data"]) for task in tasks)
    assert "expected" not in files[TASKS]


def test_an_export_of_label_studio_becomes_a_sheet_for_each_person(folder: StudyFolder) -> None:
    sheets = import_answers(folder, EXPORT, completed(folder, 3, 8))
    assert [(sheet.annotator, len(sheet.answers)) for sheet in sheets] == [("ls-3", 10), ("ls-8", 10)]
    assert folder.sheet("ls-3").answers["item-0001"] == ItemAnswer(value="a", note="odd")
    import_answers(folder, EXPORT, completed(folder, 3, index=1))
    assert folder.sheet("ls-3").answers["item-0001"].value == "b"


def test_people_of_label_studio_may_be_told_as_objects_and_cancelled_work_is_left_out(folder: StudyFolder) -> None:
    person: Any = {"id": 4, "email": "anna@example.org"}
    assert import_answers(folder, EXPORT, completed(folder, person, was_cancelled=True)) == []
    (sheet,) = import_answers(folder, EXPORT, completed(folder, person))
    assert (sheet.annotator, "example" in sheet.model_dump_json()) == ("ls-4", False)


@pytest.mark.parametrize(
    "content", [b"no json", b"[1]", b'[{"data": {"item": "item-0001"}}]', b'[{"data": {"item": "x"}}]', b"3", b"[" * 5000]
)
def test_what_is_no_export_ends_in_one_sentence(folder: StudyFolder, content: bytes) -> None:
    with pytest.raises(AnnotationError, match=r"no JSON|no JSON export|no export|does not have"):
        import_answers(folder, EXPORT, content)


def test_a_study_is_never_overwritten_by_another(tmp_path: Path, folder: StudyFolder) -> None:
    folder.put(folder.sheet("anna"), {"item-0001": ItemAnswer(value="a")})
    begin_study(tmp_path)
    with pytest.raises(AnnotationError, match="choose another --name"):
        begin_study(tmp_path, seed=7)
    assert len(folder.sheet("anna").answers) == 1
