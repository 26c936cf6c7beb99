"""The examples of the prompts for messages keep the rules that they illustrate."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from assets.amemgym.session_queries.drafts import query_in_context
from assets.text.text_checks import blocking_faults, faults
from prompts.catalogue import load_prompt
from tests.support import scenario
from tests.support.small import START

FIFTH = 0.2  # of a length, which a message may miss


def block(text: str, tag: str) -> Any:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def alternatives(entry: Mapping[str, Any]) -> list[str]:
    """All choices of a variable, as an example shows them."""
    others = [*entry.get("instead_of", []), *entry.get("nor", []), *entry.get("not", [])]
    named = [entry.get(key, "") for key in ("value", "old", "new", "holds", "spoken_of", "holds_for_me")]
    return [choice for choice in (*named, *others) if choice]


def spoken_of(entry: Mapping[str, Any]) -> str:
    return next(entry[key] for key in ("value", "new", "holds", "spoken_of") if key in entry)


def examples(name: str) -> Iterator[tuple[str, dict[str, Any], int | None]]:
    """Yield each message with the variables that it speaks of, as its example's data shows them, and its length if told."""
    *parts, _ = load_prompt(name).parts[1:]
    for asked, answer in zip(parts[::2], parts[1::2], strict=True):
        reply = json.loads(answer.text)
        if name == "session_queries/initial":
            state = block(asked.text, "initial_state")
            for query, words in zip(reply["queries"], block(asked.text, "words"), strict=True):
                yield query["query"], {fact: state[fact] for fact in query["exposed_states"]}, words
        elif name == "session_queries/refine":
            yield reply["query"], block(asked.text, "exposed_states"), None
        else:
            tag, key = ("context", "state_transition") if name == "session_queries/update" else ("assignments", "fact")
            for query, entry in zip(reply["queries"], block(asked.text, tag), strict=True):
                yield query, entry[key], entry["words"]


PROMPTS = [f"session_queries/{name}" for name in ("initial", "update", "noise", "refine")]
CASES = [(text, shown, words) for name in PROMPTS for text, shown, words in examples(name)]


@pytest.mark.parametrize(("text", "shown", "words"), CASES)
def test_an_examples_message_passes_the_checks_and_has_the_length_that_is_asked_for(
    text: str, shown: dict[str, Any], words: int | None
) -> None:
    choices = {fact: alternatives(entry) for fact, entry in shown.items()}
    told = {fact: spoken_of(entry) for fact, entry in shown.items()}
    recipe = scenario.recipe()
    context = query_in_context(text, told, day=START, profile=scenario.profile(), choices=choices, recipe=recipe)
    assert blocking_faults(context) == []
    assert [fault for _, fault in faults(context)] == []
    assert words is None or abs(len(text.split()) - words) <= FIFTH * words


def test_one_in_three_messages_of_the_examples_ends_without_a_question_mark() -> None:
    endings = [text.endswith("?") for text, _, _ in CASES]
    assert 3 * endings.count(False) >= len(endings)
    assert any(endings)
