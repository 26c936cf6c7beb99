"""The honest reply to every prompt of the stages, made from the data in the request."""

import json
import re
from collections.abc import Callable
from typing import Any

from assets.llm.ports import ModelRequest
from pipelines.embedded.task import OBJECTION

Answer = Callable[[ModelRequest], object]


def material(request: ModelRequest, tag: str) -> Any:
    """What the request's data, in the last user message that is no objection, has between `<tag>` and `</tag>`."""
    said = [message.content for message in request.messages if message.role == "user"]
    asked = next(text for text in reversed(said) if not text.startswith(OBJECTION))
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", asked, re.DOTALL)
    assert found is not None, f"{request.schema_name} has no {tag}"
    try:
        return json.loads(found[1])
    except json.JSONDecodeError:
        return found[1]


def honest(request: ModelRequest) -> object:
    """A reply that keeps every rule. Queries and answers spell the truth in JSON, where the honest judge finds it."""
    return HONEST[request.labels.prompt](request)


def _complete(request: ModelRequest) -> object:
    name = re.search(r"[A-Z]\w+ \w+", material(request, "complementary_info"))
    assert name is not None
    return {"name": name[0], "profile": f"{name[0]} keeps to old habits."}


def _questions(request: ModelRequest) -> object:
    counts = re.findall(r"exactly (\d+)", request.messages[0].content)
    questions, types, choices = (int(count) for count in counts)
    return {
        "questions": [
            {
                "question": f"What about {number}?",
                "required_info": [
                    {"info_type": f"t{number}_{index}", "info_choices": [f"c{choice}" for choice in range(choices)]}
                    for index in range(types)
                ],
            }
            for number in range(questions)
        ]
    }


def _refine_schema(request: ModelRequest) -> object:
    return {key: key for question in material(request, "questions") for key in question["required_info"]}


def _unify(request: ModelRequest) -> object:
    return {name: types[0]["info_choices"] for name, types in material(request, "conflicts").items()}


def _initial_state(request: ModelRequest) -> object:
    return {name: choices[0] for name, choices in material(request, "state_schema").items()}


def update(request: ModelRequest) -> dict[str, Any]:
    """The wanted number of changes, of the variables that changed least, each to its first other value."""
    wanted = re.search(r"Let about (\d+)", request.messages[1].content)
    assert wanted is not None
    counts, offered = material(request, "update_counts"), material(request, "state_schema")
    seldom = sorted(offered, key=lambda name: counts[name])[: int(wanted[1])]
    return {"period_summary": "Life went on.", "updated": {name: offered[name][0] for name in seldom}}


def _events(request: ModelRequest) -> object:
    return {"events": [{"states": [name], "event": f"Something moved {name}."} for name in material(request, "state_changes")]}


def _initial_queries(request: ModelRequest) -> object:
    state = _values(request, "initial_state")
    if len(state) <= 2:
        return {"queries": [{"exposed_states": state, "query": json.dumps(state)}]}
    return {"queries": [{"exposed_states": {name: state[name]}, "query": json.dumps({name: state[name]})} for name in state]}


def _update_queries(request: ModelRequest) -> object:
    groups = [group["state_transition"] for group in material(request, "context")]
    return {"queries": [json.dumps({name: change["new"] for name, change in group.items()}) for group in groups]}


def _check_exposure(request: ModelRequest) -> object:
    """What the query spells; the last option, which is "cannot tell" where judges may say so, for what it does not."""
    truth = material(request, "query")
    return {name: truth.get(name, options[-1]) for name, options in material(request, "state_choices").items()}


def _refine_query(request: ModelRequest) -> object:
    return {"query": json.dumps(_values(request, "exposed_states"))}


def _values(request: ModelRequest, tag: str) -> dict[str, str]:
    """The values of variables that are shown beside their alternatives."""
    return {name: one["value"] for name, one in material(request, tag).items()}


def _answers(request: ModelRequest) -> object:
    return {key: json.dumps(state) for key, state in material(request, "variants").items()}


def _check_answer(request: ModelRequest) -> object:
    truth = material(request, "answer")
    return {"choice": next((int(number) for number, state in material(request, "choices").items() if state == truth), 0)}


def _choose(request: ModelRequest) -> object:
    """The answer that spells the situation; 0 where none does."""
    situation = material(request, "situation")
    options = material(request, "choices").items()
    return {"choice": next((int(number) for number, text in options if text == json.dumps(situation)), 0)}


def _guess(request: ModelRequest) -> object:
    """The option whose words come first in the alphabet, wherever it stands."""
    options = material(request, "options")
    return {"choice": int(min(options, key=lambda number: str(options[number])))}


def _refine_answer(request: ModelRequest) -> object:
    return {"answer": json.dumps(material(request, "matched_state"))}


HONEST: dict[str, Answer] = {
    "user_profiles/complete": _complete,
    "questions/draft": _questions,
    "state_schema/refine": _refine_schema,
    "state_schema/unify": _unify,
    "state_trajectory/initial": _initial_state,
    "state_trajectory/update": update,
    "events/elaborate": _events,
    "session_queries/initial": _initial_queries,
    "session_queries/update": _update_queries,
    "session_queries/check_exposure": _check_exposure,
    "session_queries/refine": _refine_query,
    "answers/draft": _answers,
    "answers/check": _check_answer,
    "answers/choose": _choose,
    "answers/refine": _refine_answer,
    "audits/options_only": _guess,
    "audits/question_only": _guess,
    "audits/profile_only": _guess,
}
