import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from pipelines.embedded.amemgym.phrases import TargetValue
from pipelines.embedded.bank import FOLDER, MODEL_FAMILY, Topic, load_bank, model_name
from pipelines.embedded.reader import read_value
from tests.pipelines.embedded.bank_rules import CONCEPTS, faults_of

Content = dict[str, Any]


def good_topic() -> Content:
    return yaml.safe_load((FOLDER / "running.yaml").read_text(encoding="utf-8"))


def first_choice(content: Content) -> Content:
    return next(iter(content["variables"][0]["choices"].values()))


def set_in_first_choice(kind: str, line: str) -> Callable[[Content], object]:
    def change(content: Content) -> None:
        first_choice(content)[kind][0] = line

    return change


def repeat_a_phrase(content: Content) -> None:
    first, second = list(content["variables"][0]["choices"].values())[:2]
    second["cues"][0] = first["cues"][0]


def say_the_value(content: Content) -> None:
    value, choice = next(iter(content["variables"][0]["choices"].items()))
    choice["cues"][0] = f"What I mean is {value.replace('_', ' ')}, and I say so without any shame."


BREAKS: dict[str, tuple[Callable[[Content], object], str]] = {
    "a question too few": (lambda c: c["questions"].pop(), "questions"),
    "a request too few": (lambda c: c["requests"].pop(), "requests"),
    "a variable too few": (lambda c: c["variables"].pop(0), "three variables"),
    "question without mark": (
        lambda c: c["questions"].__setitem__(0, "Tell me how I could run a little better."),
        "question mark",
    ),
    "question too short": (lambda c: c["questions"].__setitem__(0, "How do I run?"), "8 to 18"),
    "no snake case": (lambda c: c["variables"][0].update(name="Running Surface"), "snake case"),
    "cue too long": (set_in_first_choice("cues", "word " * 18 + "end."), "8 to 17"),
    "cue without dot": (set_in_first_choice("cues", "I run where the ground is soft and kind to knees"), "ends in a dot"),
    "event with dot": (set_in_first_choice("events", "Found a soft path by the river and ran there every day."), "no dot"),
    "event in small letters": (
        set_in_first_choice("events", "found a soft path by the river and ran there every day"),
        "capital",
    ),
    "advice too short": (set_in_first_choice("advice", "Run slowly."), "14 to 24"),
    "no ASCII": (set_in_first_choice("cues", "I run past the café on the corner with every loop."), "do without"),
    "no ASCII in a question": (
        lambda c: c["questions"].__setitem__(0, "How could I run past the café a little faster?"),
        "do without",
    ),
    "no ASCII in a vague line": (lambda c: c["variables"][0]["vague"].__setitem__(0, "As at the café."), "do without"),
    "semicolon": (set_in_first_choice("cues", "I run a loop past the bakery; it smells of bread."), "do without"),
    "two choices": (
        lambda c: c["variables"][0].update(choices=dict(list(c["variables"][0]["choices"].items())[:2])),
        "choices",
    ),
    "a vague line too few": (lambda c: c["variables"][0]["vague"].pop(), "vague"),
    "a line twice": (repeat_a_phrase, "twice"),
    "its own value": (say_the_value, "own value"),
    "concept in front": (lambda c: c["variables"].reverse(), "last variable"),
    "concept under another name": (lambda c: c["variables"][2].update(name="fitness_level"), "concept"),
    "concept with other choices": (lambda c: c["variables"][2]["choices"].popitem(), "choices"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_topic_that_breaks_a_rule_is_refused_with_its_reason(name: str) -> None:
    content = copy.deepcopy(good_topic())
    change, reason = BREAKS[name]
    change(content)
    assert reason in " ".join(faults_of(Topic.model_validate(content)))


def test_a_topic_with_an_unknown_key_is_not_read() -> None:
    with pytest.raises(ValidationError, match="extra"):
        Topic.model_validate({**good_topic(), "extra": 1})


def test_work_belongs_to_topics_for_employed_people() -> None:
    content = yaml.safe_load((FOLDER / "time_management.yaml").read_text(encoding="utf-8"))
    content["fits"]["employed"] = False
    assert "employed people only" in " ".join(faults_of(Topic.model_validate(content)))


def test_every_topic_follows_the_rules_and_has_its_files_name() -> None:
    topics = load_bank().topics
    assert [topic.topic for topic in topics] == sorted(path.stem for path in FOLDER.glob("*.yaml"))
    assert {topic.topic: list(faults_of(topic)) for topic in topics} == {topic.topic: [] for topic in topics}


def test_vague_phrases_settle_nothing() -> None:
    settled = [
        line
        for topic in load_bank().topics
        for variable in topic.variables
        for line in (*variable.vague, *variable.vague_advice)
        if read_value(line, name=variable.name, values=tuple(variable.choices))
    ]
    assert len(settled) <= 10, settled


def test_nearly_every_phrase_conveys_its_own_value_and_none_another() -> None:
    readings_are_right = [
        read_value(line, name=variable.name, values=tuple(variable.choices)) == value
        for topic in load_bank().topics
        for variable in topic.variables
        for value, choice in variable.choices.items()
        for line in choice.phrases
    ]
    assert sum(readings_are_right) / len(readings_are_right) > 0.99
    topic = load_bank().topics[0]
    own, other = topic.variables[0], topic.variables[1]
    line = next(iter(own.choices.values())).cues[0]
    assert not any(TargetValue(other.name, value, tuple(other.choices)).is_conveyed_by(line) for value in other.choices)


def test_a_variable_is_recognised_by_its_values_also_under_another_name() -> None:
    bank = load_bank()
    assert bank.resolve_name("place_to_live", frozenset(CONCEPTS["home_type"][:3])) == "home_type"
    assert bank.resolve_name("shoe_size", frozenset({"tiny", "huge"})) is None


def test_the_models_name_follows_from_the_digest_of_bank_and_program() -> None:
    assert model_name() == f"{MODEL_FAMILY}-{load_bank().digest[:8]}"
