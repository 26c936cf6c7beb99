"""A model in a person's place: the same items and labels, marked as a model's in all that comes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import ModelRequest
from assets.records.annotation import StudyKind
from pipelines.embedded.bank import load_bank
from pipelines.experiments.annotation.dry_run import answer_with_model
from pipelines.experiments.annotation.records import AnswerSheet
from pipelines.experiments.annotation.units import NONE
from tests.evaluation.scripted_evaluation import fenced
from tests.experiments.annotation.making import begin_study, study
from tests.pipelines.embedded.embedded_requests import ask
from tests.support.coroutines import run
from tests.support.scripted_model import Reply, ScriptedModel
from tests.support.small import small_recipe


def filled(folder: Path, kind: StudyKind, *replies: Reply) -> tuple[AnswerSheet, ScriptedModel]:
    study_folder = begin_study(folder, kind)
    name = {"exposure": "annotation/rate_exposure", "truth": "annotation/choose_truth"}[kind]
    model = ScriptedModel({name: replies})
    sheet = run(answer_with_model(study_folder.study(), study_folder.sheet("anna"), recipe=small_recipe(), model=model))
    return sheet, model


def best(request: ModelRequest) -> Any:
    """The option whose words speak of the situation's first value, else none."""
    text = request.messages[-1].content
    values, choices = json.loads(fenced(text, "situation")).values(), json.loads(fenced(text, "choices"))
    return {"choice": next((int(number) for number, option in choices.items() if next(iter(values)) in option), 0)}


def test_a_models_sheet_is_marked_and_its_numbers_become_labels(tmp_path: Path) -> None:
    sheet, model = filled(tmp_path, "truth", best)
    assert (sheet.kind, sheet.model, len(sheet.answers)) == ("model", small_recipe().models.judge.model, 10)
    assert {answer.value for answer in sheet.answers.values()} <= {NONE, "a", "b", "c"}
    assert NONE not in fenced(model.requests[0].messages[-1].content, "choices")


def test_a_model_sees_what_the_page_shows_and_no_key(tmp_path: Path) -> None:
    _, model = filled(tmp_path, "exposure", {"rating": 2})
    drawn, keys = study("exposure")
    seen = " ".join(message.content for request in model.requests for message in request.messages)
    assert all(task.item not in seen for task in drawn.tasks)
    assert all(key.user_id not in seen for key in keys)


def test_a_number_that_is_no_label_is_asked_about_again_and_then_left_open(tmp_path: Path) -> None:
    sheet, model = filled(tmp_path, "exposure", {"rating": 7})
    assert sheet.answers == {}
    assert len(model.requests) == 2 * 12
    assert "7 is none of" in model.requests[-1].messages[-1].content


@pytest.mark.parametrize("index", range(3))
def test_the_embedded_annotator_reads_its_own_bank(index: int) -> None:
    variable = load_bank().topics[0].variables[0]
    value, others = list(variable.choices)[index], [one for one in variable.choices if one != list(variable.choices)[index]]
    words = " ".join(variable.choices[value].cues)

    def rated(prompt: str, claimed: str, **shown: Any) -> int:
        return int(ask(f"annotation/{prompt}", {"claim": {"variable": variable.name, "value": claimed}, **shown})["rating"])

    talk = [{"speaker": "user", "text": words}, {"speaker": "assistant", "text": "Noted."}]
    assert rated("rate_exposure", value, message=words) >= 1
    assert [rated("rate_exposure", other, message=words) for other in others].count(2) == 0
    assert rated("rate_integrity", value, conversation=talk) <= 1
    assert [rated("rate_integrity", other, conversation=talk) for other in others].count(0) == 0
