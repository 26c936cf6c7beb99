"""Every template of the project keeps the house's rules."""

import json

import pytest

from pipelines.benchmarks import BENCHMARKS
from prompts.catalogue import FOLDER, load_prompt, prompt_names
from prompts.template import STANDING_RULE, PromptError

# What the static part may mention: counts of the recipe and its language, the same for every user.
SHARED = {
    "language": "English",
    "num_questions": 2,
    "num_states_per_question": 2,
    "num_choices_per_state": 3,
    "num_total_months": 6,
    "num_changes": 1,
    "max_changes_per_state": 3,
    "cannot_tell": "cannot_tell",
    "reworded": True,
    "whole": True,
    "cast": True,
    "count": 4,
    "most_words": 25,
}


# What a prompt may show in a shape of its own, value by value.
SHAPED = (
    *("initial_state", "exposed_states", "current_state", "state_schema", "state_choices"),
    *("earlier_values", "change_days", "cases", "required_info", "variants", "exclusive", "state_changes", "context"),
)


CHANGE = {"old": "one", "new": "two"}


def shaped(variable: str, name: str) -> object:
    if variable in ("state_schema", "state_choices"):
        return {name: ["one", "two"]}
    own: dict[str, object] = {"earlier_values": {name: ["one"]}, "change_days": {name: "2021-01-05"}}
    own |= {"cases": {"1": {"situations": {"1": {name: "one"}}}}, "variants": {"variant_1": {name: "one"}}}
    own |= {"exclusive": [{name: "one", "another": "two"}], "state_changes": {name: {**CHANGE, "choices": ["one", "two"]}}}
    own["context"] = [{"background": "What happened.", "state_transition": {name: CHANGE}}]
    return own.get(variable, {name: "one"})


def values(name: str, *, mark: str) -> dict[str, object]:
    own: dict[str, object] = {variable: f"{mark} of {variable}" for variable in load_prompt(name).variables}
    states = {variable: shaped(variable, f"{mark} of a state") for variable in SHAPED if variable in own}
    return {**own, **states, **{variable: value for variable, value in SHARED.items() if variable in own}}


GENERATION = [name for name in prompt_names() if not name.startswith(("evaluation/", "memories/", "paper/"))]


def test_every_prompt_stands_in_the_folder_of_its_stage() -> None:
    assert len(GENERATION) == 47
    stages = {name for entry in BENCHMARKS.values() for name in entry.benchmark.stage_names}
    others = {"evaluation", "memories", "paper", "memory_items"}
    assert {name.partition("/")[0] for name in prompt_names()} <= stages | others


@pytest.mark.parametrize("name", GENERATION)
def test_a_prompt_shows_each_users_data_in_its_last_part_only(name: str) -> None:
    given = values(name, mark="Zoë's {{ 7*7 }}")
    *before, user = load_prompt(name).render(**given).messages
    assert before == list(load_prompt(name).render(**values(name, mark="Max's")).messages[:-1])
    own = [str(value) for variable, value in given.items() if variable not in (*SHARED, *SHAPED)]
    shown = [*own, *(["Zoë's {{ 7*7 }} of a state"] if {*SHAPED} & given.keys() else [])]
    assert shown
    assert [value for value in shown if value not in user.content] == []


@pytest.mark.parametrize("name", [name for name in GENERATION if len(load_prompt(name).parts) > 2])
def test_the_answers_of_a_prompts_examples_are_json(name: str) -> None:
    messages = load_prompt(name).render(**values(name, mark="x")).messages
    replies = [json.loads(message.content) for message in messages if message.role == "assistant"]
    assert replies
    assert all(isinstance(answer, dict) for answer in replies)


@pytest.mark.parametrize("name", prompt_names())
def test_a_prompts_system_part_ends_with_the_standing_rule(name: str) -> None:
    system = load_prompt(name).render(**values(name, mark="x")).messages[0]
    assert system.role == "system"
    assert system.content.endswith(f"\n{STANDING_RULE}")


@pytest.mark.parametrize("name", ["session_queries/check_exposure", "answers/check", "answers/choose"])
def test_a_judge_without_the_option_to_pass_is_told_to_take_the_closest(name: str) -> None:
    given = values(name, mark="x")
    with_option, without = (load_prompt(name).render(**{**given, "cannot_tell": cannot}) for cannot in ("cannot_tell", ""))
    assert "closest" not in with_option.messages[0].content
    assert "closest" in without.messages[0].content


def test_prompts_have_fingerprints_of_their_own() -> None:
    assert len({load_prompt(name).fingerprint for name in prompt_names()}) == len(prompt_names())


def test_an_unknown_prompt_is_named_with_those_there_are() -> None:
    with pytest.raises(PromptError, match=r"no prompt 'answers/drift'; there are .*answers/draft"):
        load_prompt("answers/drift")


def test_no_two_templates_have_one_name() -> None:
    assert len(prompt_names()) == len(list(FOLDER.rglob("*.md")))
