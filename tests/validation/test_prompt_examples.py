"""What the prompts' examples tell of is nobody's life: none of it turns up in what is generated."""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.llm.text import words_of
from prompts.catalogue import load_prompt, prompt_names
from tests.validation.clean_set import clean_set

QUOTED = re.compile(r'"([^"{}\[\]\n]+)"')
RUN = 5  # words in a row that no two texts share by chance
WRITERS = [
    name
    for name in prompt_names()
    if name.partition("/")[0] in AMEMGYM.stage_names and load_prompt(name).role == "writer" and len(load_prompt(name).parts) > 2
]


def runs_of(text: str) -> Iterator[tuple[str, ...]]:
    words = words_of(text)
    return zip(*(islice(words, start, None) for start in range(RUN)), strict=False)


def told_in_examples(name: str) -> list[str]:
    """All texts, names and values of the turns before the last, which is the call's own."""
    turns = load_prompt(name).parts[1:-1]
    return [
        text for turn in turns for text in (*QUOTED.findall(turn.text), *turn.text.splitlines()) if not text.startswith("<")
    ]


@cache
def generated() -> str:
    """All that the embedded model wrote for three users, as one text."""
    texts = (record.model_dump_json() for rows in clean_set().records.values() for record in rows.values())
    return "\n".join(json.dumps(json.loads(text), ensure_ascii=False) for text in texts)


@pytest.mark.parametrize("name", WRITERS)
def test_no_run_of_words_of_an_example_turns_up_in_what_is_generated(name: str) -> None:
    written = set(runs_of(generated()))
    told = told_in_examples(name)
    assert any(True for text in told for _ in runs_of(text))
    assert [text for text in told if set(runs_of(text)) & written] == []


@pytest.mark.parametrize("name", WRITERS)
def test_no_variable_of_an_example_is_one_of_a_user(name: str) -> None:
    variables = {variable.name for schema in clean_set().rows("state_schema") for variable in schema.variables}
    # A key of an example's JSON with a list, an object or a value after it: state variables, and keys of the reply.
    named = set(re.findall(r'"([a-z]+(?:_[a-z]+)+)":', "\n".join(part.text for part in load_prompt(name).parts[1:-1])))
    assert not named & variables
