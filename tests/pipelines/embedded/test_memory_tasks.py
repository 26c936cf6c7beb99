"""The embedded model extracts facts and notes by what it reads, judges what a message reveals, and improves policies."""

import json
from typing import Any

from pipelines.embedded.app import write_reply
from pipelines.embedded.assistant.memory_tasks import settled_variables, statements
from pipelines.embedded.bank import load_bank
from pipelines.embedded.task import PromptTask, PromptTurn
from prompts.catalogue import load_prompt

TOPIC = load_bank().topics[0]
VARIABLE = TOPIC.variables[0]
VALUE, CHOICE = next(iter(VARIABLE.choices.items()))
CUE = next(cue for cue in CHOICE.cues if VARIABLE.name in settled_variables(cue))
SPOKEN = f"user: [Current Time: 2020-10-01 09:30:00] {CUE} {TOPIC.requests[0]}\nassistant: You may have a boat."


def ask(name: str, **values: object) -> Any:
    """The reply to a prompt, as JSON."""
    prompt = load_prompt(name).render(**values)
    return json.loads(write_reply(PromptTask(name, tuple(PromptTurn(m.role, m.content) for m in prompt.messages), seed=0)))


def test_only_the_users_statements_are_facts() -> None:
    assert statements(SPOKEN) == [CUE]
    assert ask("memories/extract_facts", conversation=SPOKEN) == {"facts": [CUE]}


def test_a_fact_replaces_the_memory_about_the_same() -> None:
    cues = [cue for choice in VARIABLE.choices.values() for cue in choice.cues if cue != CUE]
    other = next(cue for cue in cues if settled_variables(cue) == settled_variables(CUE))
    memories = [{"id": "4", "at": "2020-10-01", "text": other}]

    changes = ask("memories/reconcile_memories", memories=memories, facts=[CUE])["memory"]
    new = ask("memories/reconcile_memories", memories=[], facts=[CUE])["memory"]

    assert changes == [{"id": "4", "text": CUE, "event": "UPDATE"}]
    assert new == [{"id": "", "text": CUE, "event": "ADD"}]


def test_notes_are_taken_by_variable_where_the_list_of_kinds_names_it() -> None:
    def noted(kinds: str) -> dict[str, str]:
        return ask("memories/update_notes", kinds=kinds, current_memories={}, conversation=SPOKEN)

    words = VARIABLE.name.replace("_", " ")
    assert noted(f"- the weather\n- {words}, as it is now")[VARIABLE.name] == CUE
    assert VARIABLE.name not in noted("- the weather")
    assert VARIABLE.name not in noted("")  # the prompt's own kinds are general ones


def test_a_message_that_settles_a_tracked_value_is_noticed() -> None:
    choices = {VARIABLE.name: list(VARIABLE.choices)}

    def told(message: str, *, opening: str = "What should I do?") -> list[dict[str, str]]:
        shown = {"state_schema": choices, "query": opening, "said_before": "", "message": message}
        return ask("evaluation/check_turn", **shown)["told"]

    assert told(CUE) == [{"variable": VARIABLE.name, "value": VALUE}]
    assert told("Which would you start with?") == []
    assert told(CUE, opening=CUE) == []


def test_a_policy_is_improved_by_what_the_feedback_shows_and_no_value_enters_it() -> None:
    exposing: dict[str, Any] = {"user_information_updates": {VARIABLE.name: VALUE}, "question_answer_history": []}
    asking: dict[str, Any] = {"question_answer_history": [{"question": TOPIC.questions[0]}]}

    def better(feedback: list[Any], room: int = 1000) -> str:
        policy = ask("evaluation/improve_policy", most_characters=room, current_section="- the weather", feedback=feedback)
        return policy["new_types"]

    assert better([exposing]) == f"- the weather\n- {VARIABLE.name.replace('_', ' ')}, as it is now"
    assert TOPIC.topic.replace("_", " ") in better([asking])
    assert better([]) == "- the weather"
    assert len(better([exposing], room=45)) <= 45


def test_a_memory_confirms_what_its_last_line_on_the_variable_says() -> None:
    other, choice = list(VARIABLE.choices.items())[1]
    later = next(cue for cue in choice.cues if VARIABLE.name in settled_variables(cue))
    claims = {"1": f"{VARIABLE.name}: {VALUE}", "2": f"{VARIABLE.name}: {other}"}

    assert ask("evaluation/check_memory", memory=f"a: {CUE}", claims=claims) == {"1": "yes", "2": "no"}
    assert ask("evaluation/check_memory", memory=f"a: {CUE}\nb: {later}", claims=claims) == {"1": "no", "2": "yes"}
