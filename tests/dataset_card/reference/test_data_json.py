"""The reference's items: their exact shape, and the law that reading one keeps it or refuses it."""

import copy
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.records.episode import Episode
from dataset_card.amemgym.reference.data_json import ReferenceError, episode_from_reference, to_reference
from tests.dataset_card.reference.expected import EXPECTED, put
from tests.support import scenario


def without_what_the_shape_lacks(episode: Episode) -> dict[str, Any]:
    fields = episode.model_dump()
    for variable in fields["state_schema"]["variables"]:
        variable["merged_from"] = (variable["name"],)
    return fields


def leaves(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, (dict, list)):
        items: Any = value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        for key, item in items:
            yield from leaves(item, (*path, key))
    yield path


def kept_or_refused(item: dict[str, Any]) -> dict[str, Any] | str:
    try:
        return to_reference(episode_from_reference(item, position=3))
    except ReferenceError as error:
        return (
            "refused" if re.match(r"Item \[3\] \(.+\) of the reference data is wrong at .+: .+\.$", str(error)) else str(error)
        )


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda text: text.isprintable() and text == text.strip()
)


@st.composite
def retold(draw: st.DrawFn) -> dict[str, Any]:
    """The example with every name and value replaced by any other text."""
    texts = draw(st.lists(words, min_size=12, max_size=12, unique=True))
    olds = [*scenario.CHOICES, *(value for values in scenario.CHOICES.values() for value in values)]
    new = dict(zip(olds, texts, strict=True))

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {new.get(key, key): walk(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportCallIssue, reportArgumentType]
        if isinstance(value, list):
            return [walk(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return new.get(value, value)

    profile = EXPECTED["user_profile"]
    item = walk({key: value for key, value in EXPECTED.items() if key not in {"user_profile", "id", "start_time"}})
    return {"id": EXPECTED["id"], "start_time": EXPECTED["start_time"], "user_profile": profile, **item}


def test_an_episode_has_exactly_the_reference_s_shape_and_key_order() -> None:
    assert json.dumps(to_reference(scenario.episode())) == json.dumps(EXPECTED)


def test_reading_gives_back_the_episode_but_for_what_variables_were_merged_from() -> None:
    episode = scenario.episode()
    assert episode_from_reference(to_reference(episode)).model_dump() == without_what_the_shape_lacks(episode)


@given(retold())
def test_writing_what_was_read_gives_the_same_item_in_any_words(item: dict[str, Any]) -> None:
    assert json.dumps(to_reference(episode_from_reference(item))) == json.dumps(item)


LEAVES = [path for path in leaves(EXPECTED) if path]
JSON_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), words, st.sampled_from([" x ", "\ud800", [], {}])
)


@given(st.sampled_from(LEAVES), JSON_VALUES)
def test_a_changed_item_is_kept_exactly_or_refused_by_name_and_path(path: tuple[Any, ...], value: object) -> None:
    item = put(EXPECTED, path, value)
    assert kept_or_refused(item) in (item, "refused")


@given(st.sampled_from(LEAVES))
def test_a_key_or_entry_can_be_left_out_only_where_nothing_needs_it(path: tuple[Any, ...]) -> None:
    item = copy.deepcopy(EXPECTED)
    place: Any = item
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    assert kept_or_refused(item) in (item, "refused")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("periods", 1, "sessions", 0, "query"), 7, "periods[1].sessions[0].query"),
        (("periods", 1, "updates", "evenings {free}"), {"old": "{none}"}, "periods[1].updates['evenings {free}'].new"),
        (("periods", 2, "session_time"), "2021", "periods[2].session_time"),
        (("periods", 1, "sessions", 0, "session_time"), "2020-11-03", "periods[1].sessions[0].session_time"),
        (("periods", 1, "sessions", 0, "session_time"), "2020-11-03 00:00:00+00:00", "periods[1].sessions[0].session_time"),
        (("periods", 1, "sessions", 0, "session_time"), "2020-11-03 00:00:00.500000", "periods[1].sessions[0].session_time"),
        (("start_time",), "20201001", "start_time"),
        (("user_profile", "uuid"), "somebody else", "user_profile.uuid"),
        (("user_profile", "name"), "Zoë ", "user_profile.name"),
        (("qas", 0, "answer_choices", 1, "state"), ["vegetarian", "half-marathon (21,1 km)"], "qas[0].answer_choices"),
        (("periods", 2, "updates"), {}, "periods[2].updates"),
        (("qas", 1, "query"), "\ud800", "qas[1].query"),
    ],
)
def test_the_error_is_one_sentence_that_names_item_and_path(path: tuple[Any, ...], value: object, expected: str) -> None:
    with pytest.raises(ReferenceError) as caught:
        episode_from_reference(put(EXPECTED, path, value))
    assert f"Item '5f0c-zoë-001' of the reference data is wrong at {expected}: " in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("item", [None, [], "x", {}, {"id": 3}])
def test_what_is_no_item_is_refused(item: object) -> None:
    with pytest.raises(ReferenceError, match="is wrong at"):
        episode_from_reference(item)


def test_golden_options_are_found_by_their_unique_match() -> None:
    read = episode_from_reference(EXPECTED)
    assert [question.golden for question in read.questions] == [
        ("q01-c1", "q01-c3", "q01-c3"),
        ("q02-c2", "q02-c3", "q02-c1"),
    ]
    for index, period in enumerate(read.periods):
        for question in read.questions:
            variant = tuple(period.state[name] for name in question.required_info)
            matching = [choice.choice_id for choice in question.answer_choices if choice.state == variant]
            assert matching == [question.golden[index]]


def test_key_order_of_a_state_does_not_matter() -> None:
    backwards = dict(reversed(EXPECTED["periods"][2]["state"].items()))
    read = episode_from_reference(put(EXPECTED, ("periods", 2, "state"), backwards))
    assert read == episode_from_reference(EXPECTED)


@pytest.mark.parametrize("moment", [datetime(2020, 9, 12, 7, 0, 0, 5), datetime(2020, 9, 12, tzinfo=UTC)])
def test_a_time_that_the_shape_cannot_hold_is_refused_when_written(moment: datetime) -> None:
    episode = scenario.episode()
    first, *others = episode.periods[0].sessions
    sessions = (scenario.varied(first, session_time=moment), *others)
    periods = (scenario.varied(episode.periods[0], sessions=sessions), *episode.periods[1:])
    with pytest.raises(ReferenceError, match=r"periods\[0\]\.sessions\[0\]\.session_time"):
        to_reference(scenario.varied(episode, periods=periods))


def test_recorded_messages_survive() -> None:
    said = [{"role": "user", "content": " Hi\n"}, {"role": "assistant", "content": ""}]
    item = put(EXPECTED, ("periods", 2, "sessions", 0, "messages"), said)
    assert to_reference(episode_from_reference(item)) == item
