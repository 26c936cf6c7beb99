"""The embedded assistant keeps facts and notes by what it reads, and judges what a message gives away."""

import json
from typing import Any

from pipelines.embedded.bank import load_bank
from pipelines.embedded.notes import settled, statements
from pipelines.embedded.program import answer
from pipelines.embedded.task import Task, Turn
from prompts.catalogue import load_prompt

TOPIC = load_bank().topics[0]
VARIABLE = TOPIC.variables[0]
VALUE, CHOICE = next(iter(VARIABLE.choices.items()))
CUE = next(cue for cue in CHOICE.cues if VARIABLE.name in settled(cue))
SPOKEN = f"user: [Current Time: 2020-10-01 09:30:00] {CUE} {TOPIC.requests[0]}\nassistant: You may have a boat."


def ask(name: str, **values: object) -> Any:
    """The reply to a prompt, as JSON."""
    prompt = load_prompt(name).render(**values)
    return json.loads(answer(Task(name, tuple(Turn(m.role, m.content) for m in prompt.messages), seed=0)))


def test_only_the_users_statements_are_facts() -> None:
    assert statements(SPOKEN) == [CUE]
    assert ask("evaluation/extract_facts", conversation=SPOKEN) == {"facts": [CUE]}


def test_a_fact_takes_the_place_of_the_memory_about_the_same() -> None:
    other = next(
        cue for choice in VARIABLE.choices.values() for cue in choice.cues if cue != CUE and settled(cue) == settled(CUE)
    )
    memories = [{"id": "4", "at": "2020-10-01", "text": other}]

    changes = ask("evaluation/reconcile_memories", memories=memories, facts=[CUE])["memory"]
    new = ask("evaluation/reconcile_memories", memories=[], facts=[CUE])["memory"]

    assert changes == [{"id": "4", "text": CUE, "event": "UPDATE"}]
    assert new == [{"id": "", "text": CUE, "event": "ADD"}]


def test_notes_are_kept_by_variable() -> None:
    assert ask("evaluation/update_notes", current_memories={}, conversation=SPOKEN)[VARIABLE.name] == CUE


def test_a_message_that_settles_a_tracked_value_is_noticed() -> None:
    choices = {VARIABLE.name: list(VARIABLE.choices)}

    assert ask("evaluation/check_turn", state_choices=choices, said_before="", message=CUE)["told"] == [
        {"variable": VARIABLE.name, "value": VALUE}
    ]
    assert (
        ask("evaluation/check_turn", state_choices=choices, said_before="", message="Which would you start with?")["told"] == []
    )
