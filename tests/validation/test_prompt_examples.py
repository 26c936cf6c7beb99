"""What the prompts' examples tell of is nobody's life: none of it turns up in what a model wrote."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.questions import find_question_faults
from assets.amemgym.records.question import Question, RequiredInfo
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of
from assets.text.words import runs_of_words
from prompts.catalogue import load_prompt, prompt_names
from prompts.template import Prompt
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe
from tests.validation.clean_set import clean_set

QUOTED = re.compile(r'"([^"{}\[\]\n]+)"')
NAME = re.compile(r'"([a-z]+(?:_[a-z]+)+)"')
RUN = 6  # words in a row that no two texts share by chance
IN_INSTRUCTIONS = ("state_schema/refine",)  # its example stands in the first part
KEYS = {"exposed_states", "instead_of", "state_transition", "info_type", "info_choices", "required_info"}  # no state has these
WITH_EXAMPLES = [
    name
    for name in prompt_names()
    if name.partition("/")[0] in AMEMGYM.stage_names and (len(load_prompt(name).parts) > 2 or name in IN_INSTRUCTIONS)
]


def runs_in(texts: Iterable[str]) -> set[tuple[str, ...]]:
    return {run for text in texts for run in runs_of_words(text, RUN)}


def example_of(prompt: Prompt) -> str:
    """All that the example says: the turns before the last, which is the call's own."""
    return "\n".join(part.text for part in (prompt.parts[:1] if prompt.name in IN_INSTRUCTIONS else prompt.parts[1:-1]))


def told_in(prompt: Prompt) -> list[str]:
    """The example's texts, names and values."""
    example = example_of(prompt)
    lines = [] if prompt.name in IN_INSTRUCTIONS else example.splitlines()
    return [text for text in (*QUOTED.findall(example), *lines) if not text.startswith("<")]


def names_in(prompt: Prompt) -> set[str]:
    """The example's variables and values of more than one word."""
    return {name for name in NAME.findall(example_of(prompt)) if not re.fullmatch(r"variant_\d", name)} - KEYS


@cache
def generated() -> frozenset[tuple[str, ...]]:
    """The runs of words in all that the embedded model wrote for three users."""
    texts = (record.model_dump_json() for rows in clean_set().records.values() for record in rows.values())
    return frozenset(runs_in(json.dumps(json.loads(text), ensure_ascii=False) for text in texts))


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_no_run_of_words_of_an_example_turns_up_in_what_is_generated(name: str) -> None:
    told = told_in(load_prompt(name))
    assert runs_in(told) or names_in(load_prompt(name))
    assert [text for text in told if runs_in([text]) & generated()] == []


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_no_variable_or_value_of_an_example_is_one_of_a_user(name: str) -> None:
    variables = [variable for schema in clean_set().rows("state_schema") for variable in schema.variables]
    assert not names_in(load_prompt(name)) & {word for one in variables for word in (one.name, *one.choices)}


def rye_bread(prompt: Prompt) -> dict[str, object]:
    """Data for each of the prompt's variables, about another subject than any example."""
    return {name: () if name in ("context", "state_schema") else "Marta bakes." for name in prompt.variables}


@pytest.mark.parametrize(
    ("written", "sent_back"),
    [
        (
            "there's no bus any more so a neighbor takes me in his van, write me something for a jar of jam please, he's kind",
            True,
        ),
        ("My daughter wears her own boots on our outings now. Which path should I show her?", False),
    ],
)
def test_an_example_told_again_in_part_is_sent_back(written: str, sent_back: bool) -> None:
    prompt = load_prompt("session_queries/update")
    schema = ReplySchema[dict[str, str]](object_of({"query": TEXT}))
    model = ScriptedModel({prompt.name: [json.dumps({"query": written}), '{"query": "How do I bake?"}']})
    run(
        ask_structured(
            model, prompt=prompt.render(**rye_bread(prompt)), reply=schema, convert=str, settings=small_recipe().asking
        )
    )
    assert bool(model.objections(prompt.name)) == sent_back


@pytest.mark.parametrize(("states", "choices"), [(1, 2), (2, 3), (3, 4)])
def test_example_questions_obey_the_rules_that_they_illustrate(states: int, choices: int) -> None:
    recipe = small_recipe(num_questions=1, num_states_per_question=states, num_choices_per_state=choices)
    shown = {"num_states_per_question": states, "num_choices_per_state": choices, "num_total_months": 9, "num_questions": 1}
    prompt = load_prompt("questions/draft")
    rendered = prompt.render(**{**rye_bread(prompt), **shown})
    examples = [(rendered.examples[place], rendered.examples[place + 1]) for place in range(0, len(rendered.examples), 2)]
    assert len(examples) == 2
    for request, reply in examples:
        (drafted,) = json.loads(reply)["questions"]
        infos = tuple(RequiredInfo.model_validate(info) for info in drafted["required_info"])
        question = Question(question_id="q01", text=drafted["question"], required_info=infos)
        assert [len(info.info_choices) for info in question.required_info] == [choices] * states
        faults = find_question_faults([question], profile=scenario.profile(formatted_str=request), recipe=recipe)
        assert faults == {}


def test_the_examples_of_two_stages_speak_of_different_subjects() -> None:
    stages: dict[str, set[str]] = {}
    for name in WITH_EXAMPLES:
        stages.setdefault(name.partition("/")[0], set()).update(names_in(load_prompt(name)))
    counts = Counter(name for names in stages.values() for name in names)
    assert [name for name, count in counts.items() if count > 1] == []
