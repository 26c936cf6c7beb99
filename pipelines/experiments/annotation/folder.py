"""A study's folder: what annotators are given, the key, and every annotator's answers, also those that come from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from assets.recipe.loading import nearest_first
from assets.records.base import Record
from dataset_card.release.writers import write_durably
from pipelines.experiments.annotation.records import AnnotationError, AnswerSheet, ItemAnswer, ItemKey, Study
from pipelines.experiments.annotation.spreadsheet import from_csv

STUDY = "study.json"
KEY = "key.json"
ANSWERS = "answers"
KEYS: TypeAdapter[tuple[ItemKey, ...]] = TypeAdapter(tuple[ItemKey, ...])
R = TypeVar("R", bound=Record)


class StudyFolder:
    """`<studies>/<name>/`. Nothing but answers and reports is written twice."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, name: str, *, studies: Path) -> "StudyFolder":
        """Return the folder of a study that is there. Raises AnnotationError naming the studies that are."""
        path = Path(name) if (Path(name) / STUDY).is_file() else studies / name
        if not (path / STUDY).is_file():
            known = nearest_first(name, sorted([path.parent.name for path in studies.glob(f"*/{STUDY}")]))
            raise AnnotationError(
                f"There is no study {name!r} in {studies}; there is {known}. Make one: amemgym annotate sample"
            )
        return cls(path)

    def begin(self, study: Study, keys: Sequence[ItemKey]) -> None:
        """Write a new study with an empty sheet for each annotator. Raises AnnotationError where the folder holds another."""
        if (self.path / STUDY).exists():
            if self.study() == study:
                return
            raise AnnotationError(f"The study {study.name!r} is there with other items; choose another --name.")
        (self.path / ANSWERS).mkdir(parents=True, exist_ok=True)
        write_durably(self.path / KEY, KEYS.dump_json(tuple(keys), indent=1))
        for name in study.annotators:
            self.save(AnswerSheet(study=study.name, study_digest=study.sha256(), annotator=name))
        write_durably(self.path / STUDY, study.model_dump_json(indent=1).encode())  # last: with it the study is there

    def study(self) -> Study:
        """Return what annotators are given. Raises AnnotationError."""
        return _read(self.path / STUDY, Study)

    def keys(self) -> dict[str, ItemKey]:
        """Return what each item is. Raises AnnotationError."""
        try:
            return {key.item: key for key in KEYS.validate_json((self.path / KEY).read_bytes())}
        except (OSError, ValidationError) as error:
            raise AnnotationError(f"{self.path / KEY} cannot be read; without the key nothing can be counted.") from error

    def sheets(self) -> list[AnswerSheet]:
        """Return the answers of all annotators, sorted by their names."""
        paths = sorted((self.path / ANSWERS).glob("*.json"))
        return [_read(path, AnswerSheet) for path in paths]

    def sheet(self, annotator: str) -> AnswerSheet:
        """Return one annotator's answers. Raises AnnotationError for one who has no part in the study."""
        sheets = {sheet.annotator: sheet for sheet in self.sheets()}
        if annotator not in sheets:
            names = nearest_first(annotator, sheets)
            raise AnnotationError(f"{annotator!r} has no part in the study {self.path.name!r}; there are {names}.")
        return sheets[annotator]

    def save(self, sheet: AnswerSheet) -> None:
        """Return when the answers are on the disk."""
        write_durably(self.path / ANSWERS / f"{sheet.annotator}.json", sheet.model_dump_json(indent=1).encode())

    def put(self, sheet: AnswerSheet, answers: dict[str, ItemAnswer]) -> AnswerSheet:
        """Save the sheet with these answers too, and return it. Raises AnnotationError for an unknown item or label."""
        _check_labels(self.study(), answers)
        merged = sheet.model_copy(update={"answers": {**sheet.answers, **answers}})
        self.save(merged)
        return merged


def _check_labels(study: Study, answers: dict[str, ItemAnswer]) -> None:
    """Raise AnnotationError for the first answer that the study does not have."""
    labels: dict[str, set[str]] = {}
    for task in study.tasks:
        labels[task.item] = {label.value for label in task.labels}
    for item, answer in answers.items():
        if item not in labels:
            raise AnnotationError(f"The study {study.name!r} has no item {item!r}; is the file from another study?")
        if answer.value not in labels[item]:
            raise AnnotationError(f"{answer.value!r} is no label of {item}; it has {', '.join(sorted(labels[item]))}.")


def _read(path: Path, kind: type[R]) -> R:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise AnnotationError(f"{path} cannot be read ({type(error).__name__}); put back an unchanged copy.") from error


def import_answers(folder: StudyFolder, path: Path, content: bytes) -> AnswerSheet:
    """Save the answers of an annotator's CSV file beside the existing ones; the file bears the annotator's name.

    Raises AnnotationError, and then saves nothing.
    """
    sheet = folder.sheet(path.stem)
    try:
        text = content.decode("utf-8-sig")  # as spreadsheets save it
    except UnicodeDecodeError as error:
        raise AnnotationError("This file is not UTF-8; save it as CSV in UTF-8.") from error
    return folder.put(sheet, from_csv(text, study=folder.study()))
