"""Anybody's `data.json`: read as it is, and left out by user or question what cannot be read."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.amemgym.records.user import LeftOut
from dataset_card.amemgym.reference.data_json import ReferenceError, data_json, to_reference
from dataset_card.amemgym.reference.imported import ImportedData, import_data_json
from tests.dataset_card.reference.foreign_data import foreign_users, write_foreign_data
from tests.support import scenario

Change = Callable[[Any], object]


def imported(folder: Path, items: list[dict[str, Any]]) -> ImportedData:
    return import_data_json(write_foreign_data(folder / "data.json", items))


def changed(change: Change, *, count: int = 2) -> list[dict[str, Any]]:
    """Users of whom the second is changed."""
    items = foreign_users(count)
    change(items[1])
    return items


def test_merged_variables_and_orphans_are_read_without_loss(tmp_path: Path) -> None:
    data = imported(tmp_path, foreign_users())

    assert len(data.episodes) == 5
    assert data.users == 5
    assert data.questions == 20
    assert list(data.sentences()) == []
    assert [to_reference(episode) for episode in data.episodes] == foreign_users()
    first = data.episodes[0].questions[0]
    assert first.required_info == ("commute", "commute")
    assert [len(set(choice.state)) for choice in first.answer_choices] == [1, 1, 1, 2]
    assert "pet" not in data.episodes[0].state_schema.used


def test_our_own_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_bytes(data_json([scenario.episode()]))
    data = import_data_json(tmp_path / "data.json")
    assert [to_reference(one) for one in data.episodes] == [to_reference(scenario.episode())]
    assert not list(data.sentences())


BROKEN_USERS: dict[str, tuple[Change, str]] = {
    "a value outside its choices": (lambda one: one["periods"][1]["state"].update(sleep="in_a_tree"), "periods[1]"),
    "an update that never was": (lambda one: one["periods"][1]["updates"].clear(), "periods[1].updates"),
    "a session that exposes nothing": (lambda one: one["periods"][2]["sessions"][0]["exposed_states"].clear(), "periods"),
    "an untold update": (lambda one: one["periods"][2]["sessions"].clear(), "periods"),
    "no name": (lambda one: one["user_profile"].update(name=None), "user_profile.name"),
    "no periods": (lambda one: one["periods"].clear(), "periods"),
    "no questions": (lambda one: one["qas"].clear(), "qas"),
    "the id of another": (
        lambda one: one.update(id="tourist-00", user_profile={**one["user_profile"], "uuid": "tourist-00"}),
        "id",
    ),
    "an age of 5,000 digits": (lambda one: one["user_profile"].update(age="9" * 5000), "user_profile.age"),
    "a number of 400 digits for a name": (lambda one: one["user_profile"].update(name=10**400), "user_profile.name"),
    "a time before the first year": (
        lambda one: one["periods"][1]["sessions"][0].update(session_time="0001-01-01T00:00:00+14:00"),
        "periods[1].sessions[0].session_time",
    ),
}


@pytest.mark.parametrize(("change", "where"), BROKEN_USERS.values(), ids=BROKEN_USERS)
def test_a_user_who_cannot_be_used_is_left_out_alone(tmp_path: Path, change: Change, where: str) -> None:
    data = imported(tmp_path, changed(change, count=3))

    assert [episode.user_id for episode in data.episodes] == ["tourist-00", "tourist-02"]
    (lost,) = data.left_out
    assert lost.question_id == ""
    assert lost.reason.startswith(where)
    assert any(sentence.startswith("1 of 3 users cannot be used and is left out: tourist-0") for sentence in data.sentences())


def unmatched(question: dict[str, Any]) -> None:
    question["answer_choices"] = [one for one in question["answer_choices"] if one["type"] == "random"] * 2


BROKEN_QUESTIONS: dict[str, tuple[Change, str]] = {
    "an unknown variable": (lambda one: one.update(required_info=["mood", "sleep"]), "required_info"),
    "no right option": (unmatched, "0 options match"),
    "two right options": (lambda one: one["answer_choices"].extend(one["answer_choices"][:]), "2 options match"),
    "an empty answer": (lambda one: one["answer_choices"][0].update(answer=" "), "answer_choices"),
    "no words": (lambda one: one.update(query=None), "query"),
    "words that are blanks": (lambda one: one.update(query=" "), "qas[1].query"),
    "no variable": (lambda one: one.update(required_info=[]), "options match"),
}


@pytest.mark.parametrize(("change", "what"), BROKEN_QUESTIONS.values(), ids=BROKEN_QUESTIONS)
def test_a_question_that_cannot_be_used_is_left_out_alone_and_the_others_keep_their_ids(
    tmp_path: Path, change: Change, what: str
) -> None:
    data = imported(tmp_path, changed(lambda one: change(one["qas"][1])))

    assert [question.question_id for question in data.episodes[1].questions] == ["q01", "q03", "q04"]
    assert [question.question_id for question in data.episodes[1].state_schema.questions] == ["q01", "q03", "q04"]
    (lost,) = data.left_out
    assert (lost.user_id, lost.question_id, what in lost.reason) == ("tourist-01", "q02", True)


UNREAD: dict[str, tuple[Change, str]] = {
    "spaces": (lambda one: one["user_profile"].update(name=" Tove\n"), "user_profile.name"),
    "an unknown key": (lambda one: one.update(model="qwen3"), "model"),
    "no messages": (lambda one: one["periods"][0]["sessions"][0].pop("messages"), "periods[0].sessions[0].messages"),
    "an age as text": (lambda one: one["user_profile"].update(age="37"), "user_profile.age"),
    "another id in the profile": (lambda one: one["user_profile"].update(uuid="x"), "user_profile.uuid"),
    "no starts": (lambda one: [period.update(period_start=None) for period in one["periods"]], "periods"),
    "a time with a T": (
        lambda one: one["periods"][0]["sessions"][0].update(session_time="2024-02-10T09:00:00"),
        "periods[0].sessions[0].session_time",
    ),
}


@pytest.mark.parametrize(("change", "where"), UNREAD.values(), ids=UNREAD)
def test_what_is_not_in_the_shape_is_told_by_its_place_and_not_mended(tmp_path: Path, change: Change, where: str) -> None:
    data = imported(tmp_path, changed(change))

    assert [episode.user_id for episode in data.episodes] == ["tourist-00"]
    (lost,) = data.left_out
    assert lost.reason.startswith(where)


def test_a_question_with_spaces_around_its_words_costs_itself_alone(tmp_path: Path) -> None:
    data = imported(tmp_path, changed(lambda one: one["qas"][0].update(query=f" {one['qas'][0]['query']}\n")))

    assert len(data.episodes) == 2
    (lost,) = data.left_out
    assert (lost.question_id, lost.reason.partition(":")[0]) == ("q01", "qas[0].query")


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "data.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(foreign_users(2)).encode()))
    assert len(import_data_json(packed).episodes) == 2
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ReferenceError, match="packed by gzip, and damaged"):
        import_data_json(packed)


@pytest.mark.parametrize("item", [None, [], 3, "x", {}, {"id": 3, "qas": [None]}])
def test_what_is_no_user_at_all_is_left_out(tmp_path: Path, item: Any) -> None:
    data = imported(tmp_path, [item, *foreign_users(1)])
    assert [episode.user_id for episode in data.episodes] == ["tourist-00"]
    assert [type(one) for one in data.left_out] == [LeftOut]


@pytest.mark.parametrize("content", [b"{}", b"[", b'[{"id": 1, "id": 2}]'])
def test_a_file_that_is_no_json_array_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.json").write_bytes(content)
    with pytest.raises(ReferenceError, match=r"^It "):
        import_data_json(tmp_path / "data.json")


def test_a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data.json")
    with pytest.raises(OSError, match="it is a folder, a pipe or a device"):
        import_data_json(tmp_path / "data.json")
