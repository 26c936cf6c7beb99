"""Answers from files: what fits the study is kept, everything else is refused in one sentence."""

import csv
import io
from pathlib import Path

import pytest

from pipelines.experiments.annotation.folder import StudyFolder, import_answers
from pipelines.experiments.annotation.records import AnnotationError, ItemAnswer
from pipelines.experiments.annotation.spreadsheet import to_csv
from tests.experiments.annotation.making import begin_study, source
from tests.support import scenario


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return begin_study(tmp_path)


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
    sheet = import_answers(folder, Path("anna.csv"), filled(folder, item_0002="none"))
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


def test_a_study_is_never_overwritten_by_another(tmp_path: Path, folder: StudyFolder) -> None:
    folder.put(folder.sheet("anna"), {"item-0001": ItemAnswer(value="a")})
    begin_study(tmp_path)
    with pytest.raises(AnnotationError, match="choose another --name"):
        begin_study(tmp_path, seed=7)
    assert len(folder.sheet("anna").answers) == 1
