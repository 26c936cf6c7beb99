"""Answers from files and from the server: what fits the study is kept, everything else is refused in one sentence."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from starlette.testclient import TestClient

from pipelines.experiments.annotation.folder import StudyFolder, import_answers
from pipelines.experiments.annotation.label_studio import CONFIG, TASKS, to_label_studio
from pipelines.experiments.annotation.page import study_app
from pipelines.experiments.annotation.records import AnnotationError, ItemAnswer
from pipelines.ui.request_guard import RequestGuard
from tests.experiments.annotation.making import begin_study


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return begin_study(tmp_path)


@pytest.fixture
def client(folder: StudyFolder) -> TestClient:
    """Anna's browser, with her page open on `amemgym annotate serve`."""
    client = TestClient(RequestGuard(study_app(folder), host="127.0.0.1"), base_url="http://127.0.0.1:8377")
    client.get("/anna/")
    return client


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


def test_a_pages_export_is_taken_in_beside_what_is_there(folder: StudyFolder) -> None:
    folder.put(folder.sheet("anna"), {"item-0001": ItemAnswer(value="a")})
    page = folder.sheet("anna").model_copy(update={"answers": {"item-0002": ItemAnswer(value="none", note="odd")}})
    import_answers(folder, page.model_dump_json().encode())
    assert {item: answer.value for item, answer in folder.sheet("anna").answers.items()} == {
        "item-0001": "a",
        "item-0002": "none",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"study_digest": "0" * 64}, "not to the items of this study"),
        ({"annotator": "eve"}, "no part in the study"),
        ({"kind": "model"}, "as a person got them"),
        ({"answers": {"item-9999": {"value": "a"}}}, "no item 'item-9999'"),
        ({"answers": {"item-0001": {"value": "z"}}}, "'z' is no label of item-0001"),
        ({"surprise": 1}, "no export of an annotation page"),
    ],
)
def test_a_foreign_export_is_refused_and_nothing_is_kept(folder: StudyFolder, change: dict[str, Any], message: str) -> None:
    content = {**folder.sheet("anna").model_dump(mode="json"), **change}
    with pytest.raises(AnnotationError, match=message):
        import_answers(folder, json.dumps(content).encode())
    assert folder.sheet("anna").answers == {}


def test_label_studio_gets_every_text_as_data_and_one_configuration(folder: StudyFolder) -> None:
    files = to_label_studio(folder.study())
    tasks, config = json.loads(files[TASKS]), ElementTree.fromstring(files[CONFIG])
    names = [element.get("value", "").removeprefix("$") for element in config if element.get("value", "").startswith("$")]
    assert len(tasks) == 10
    assert names == ["dialogue", "facts", "options"]
    assert all(set(names) <= set(task["data"]) for task in tasks)
    assert "expected" not in files[TASKS]


def test_an_export_of_label_studio_becomes_a_sheet_for_each_person(folder: StudyFolder) -> None:
    sheets = import_answers(folder, completed(folder, 3, 8))
    assert [(sheet.annotator, len(sheet.answers)) for sheet in sheets] == [("ls-3", 10), ("ls-8", 10)]
    assert folder.sheet("ls-3").answers["item-0001"] == ItemAnswer(value="a", note="odd")
    import_answers(folder, completed(folder, 3, index=1))
    assert folder.sheet("ls-3").answers["item-0001"].value == "b"


def test_people_of_label_studio_may_be_told_as_objects_and_cancelled_work_is_left_out(folder: StudyFolder) -> None:
    person: Any = {"id": 4, "email": "anna@example.org"}
    assert import_answers(folder, completed(folder, person, was_cancelled=True)) == []
    (sheet,) = import_answers(folder, completed(folder, person))
    assert (sheet.annotator, "example" in sheet.model_dump_json()) == ("ls-4", False)


@pytest.mark.parametrize(
    "content", [b"no json", b"[1]", b'[{"data": {"item": "item-0001"}}]', b'[{"data": {"item": "x"}}]', b"3", b"[" * 5000]
)
def test_what_is_no_export_ends_in_one_sentence(folder: StudyFolder, content: bytes) -> None:
    with pytest.raises(AnnotationError, match=r"no JSON|no JSON export|no export|does not have"):
        import_answers(folder, content)


def test_the_server_keeps_each_answer_and_gives_it_back(folder: StudyFolder, client: TestClient) -> None:
    given = {"item-0004": {"value": "none", "note": "</script>"}}
    assert client.post("/anna/answers", json=given).json() == {"saved": 1}
    assert client.get("/anna/answers").json() == {"answers": given}
    assert folder.sheet("anna").answers["item-0004"] == ItemAnswer(value="none", note="</script>")
    assert client.get("/ben/answers").json() == {"answers": {}}


def test_the_server_answers_its_own_host_and_content_alone(folder: StudyFolder, client: TestClient) -> None:
    page = client.get("/anna/")
    assert "connect-src 'self'" in page.text
    assert page.headers["x-frame-options"] == "DENY"
    assert client.get("/anna/", headers={"host": "evil.example"}).status_code == 421
    assert client.post("/anna/answers", json={}, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/anna/answers", content="{}", headers={"content-type": "text/plain"}).status_code == 400
    assert client.post("/anna/answers", json={"item-0001": {"value": "z"}}).status_code == 422
    assert client.post("/anna/answers", json=[1]).status_code == 422
    deep = client.post("/anna/answers", content="[" * 5000 + "]" * 5000, headers={"content-type": "application/json"})
    assert deep.status_code == 422
    assert client.get("/eve/").status_code == 422
    assert folder.sheet("anna").answers == {}


def test_nobody_writes_into_a_sheet_that_a_model_filled_in(folder: StudyFolder, client: TestClient) -> None:
    folder.save(folder.sheet("ben").model_copy(update={"kind": "model", "model": "test-model"}))
    assert client.post("/ben/answers", json={"item-0001": {"value": "a"}}).status_code == 422


def test_a_study_is_never_overwritten_by_another(tmp_path: Path, folder: StudyFolder) -> None:
    folder.put(folder.sheet("anna"), {"item-0001": ItemAnswer(value="a")})
    begin_study(tmp_path)
    with pytest.raises(AnnotationError, match="choose another --name"):
        begin_study(tmp_path, seed=7)
    assert len(folder.sheet("anna").answers) == 1
