"""Answers that come from outside: files that a page exported, and Label Studio's export."""

import json

from pydantic import ValidationError

from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.folder import StudyFolder, check_answers
from pipelines.experiments.annotation.label_studio import imported
from pipelines.experiments.annotation.records import AnswerSheet


def take_in(folder: StudyFolder, content: bytes) -> list[AnswerSheet]:
    """Keep a file's answers beside those that are there. Raises AnnotationError, and keeps nothing then."""
    try:
        parsed: object = json.loads(content)
    except ValueError as error:
        raise AnnotationError("This file is no JSON; give what the page or Label Studio exported.") from error
    if isinstance(parsed, list):
        return [_kept(folder, sheet) for sheet in imported(content, study=folder.study())]
    try:
        sheet = AnswerSheet.model_validate(parsed)
    except ValidationError as error:
        raise AnnotationError("This is no export of an annotation page.") from error
    there = folder.sheet(sheet.annotator)
    if sheet.study_digest != there.study_digest or sheet.kind != "person" or there.kind != "person":
        raise AnnotationError(f"The answers of {sheet.annotator!r} are not to the items of this study as a person got them.")
    return [folder.put(there, sheet.answers)]


def _kept(folder: StudyFolder, sheet: AnswerSheet) -> AnswerSheet:
    check_answers(folder.study(), sheet.answers)
    before = next((one for one in folder.sheets() if one.annotator == sheet.annotator), None)
    merged = sheet.model_copy(update={"answers": {**(before.answers if before else {}), **sheet.answers}})
    folder.save(merged)
    return merged
