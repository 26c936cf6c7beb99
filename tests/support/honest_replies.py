"""The honest reply to every prompt of the stages, made from the data in the request."""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from assets.llm.ports import ModelRequest
from pipelines.embedded.task import OBJECTION

Answer = Callable[[ModelRequest], object]
LETTERS = "bcdfghjklmnpqrst"
CODED = re.compile(rf"I ask for advice on ((?:[{LETTERS}]{{1,4}} ?)+)\?")


def coded(data: object) -> str:
    """A text in good style that spells nothing and holds the data, where `decoded` finds it."""
    content = json.dumps(data).encode()
    key = zlib.crc32(content) & 255  # other data gives other words throughout
    digits = bytes([key, *(byte ^ key for byte in content)]).hex()
    letters = "".join(LETTERS[int(digit, 16)] for digit in digits)
    return f"I ask for advice on {' '.join(letters[start : start + 4] for start in range(0, len(letters), 4))}?"


def decoded(text: str) -> Any:
    """The data of a coded text; any other text as it is."""
    match = CODED.fullmatch(text)
    if match is None:
        return text
    key, *content = bytes.fromhex("".join(f"{LETTERS.index(letter):x}" for letter in match[1].replace(" ", "")))
    return json.loads(bytes(byte ^ key for byte in content))


def material(request: ModelRequest, tag: str) -> Any:
    """What the request's data, in the last user message that is no objection, has between `<tag>` and `</tag>`."""
    said = [message.content for message in request.messages if message.role == "user"]
    asked = next(text for text in reversed(said) if not text.startswith(OBJECTION))
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", asked, re.DOTALL)
    assert found is not None, f"{request.schema_name} has no {tag}"
    try:
        return json.loads(found[1])
    except json.JSONDecodeError:
        return decoded(found[1])


def case_of(request: ModelRequest) -> dict[str, Any]:
    """The only case that a judge's request has."""
    (case,) = material(request, "cases").values()
    return case


def answer_of(request: ModelRequest) -> Any:
    """What the only answer spells whose situation a judge is to find."""
    (answer,) = case_of(request)["answers"].values()
    return decoded(answer)


def situation_of(request: ModelRequest) -> Any:
    """The only situation for which a judge is to find the answer."""
    (situation,) = situations_of(case_of(request)).values()
    return situation


def query_of(request: ModelRequest) -> dict[str, str]:
    """What the only query of a judge's request spells."""
    (text,) = material(request, "messages").values()
    return decoded(text)


def reading(tells: Mapping[str, str]) -> dict[str, object]:
    """A judge's reply about the only query of a request."""
    return {"readings": [{"id": 1, "tells": dict(tells)}]}


def honest(request: ModelRequest) -> object:
    """A reply that keeps every rule. Queries and answers hold the truth in a code that the honest judge reads."""
    return HONEST[request.labels.prompt](request)


DAY = re.compile(r"^\d{4}-\d\d-\d\d, \w+: ")  # before each text of a story
CAST = {
    "people": [
        {"name": "Ruth", "sex": "female", "relation": "sister"},
        {"name": "Omar", "sex": "male", "relation": "neighbor"},
    ],
    "animals": [],
    "home": "a flat by the river",
    "rooms": ["kitchen", "bedroom"],
    "work": "nights on a ward",
    "getting_about": "by bus",
}


def _complete(request: ModelRequest) -> object:
    name = re.search(r"[A-Z]\w+ \w+", material(request, "complementary_info"))
    assert name is not None
    reply: dict[str, object] = {"name": name[0], "profile": f"{name[0]} keeps to old habits."}
    return {**reply, "cast": CAST} if '"cast"' in request.messages[0].content else reply


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
    state, offered = known_of_variables(request), may_become(request)
    seldom = sorted(offered, key=lambda name: len(state[name]["earlier"]))[: int(wanted[1])]
    return {"period_summary": "Life went on.", "updated": {name: offered[name][0] for name in seldom}}


def may_become(request: ModelRequest) -> dict[str, list[str]]:
    """The variables that may change in the period which the request is about, with the values that they may take."""
    return {name: own["may_become"] for name, own in known_of_variables(request).items()}


def known_of_variables(request: ModelRequest) -> dict[str, dict[str, Any]]:
    """By variable that may change what the request's table of the state says of it, by column."""
    table = material(request, "state")
    return {name: dict(zip(table["columns"], row, strict=True)) for name, row in table["may_change"].items()}


def _events(request: ModelRequest) -> object:
    return {
        "events": [
            {"states": [name], "event": coded({name: change["new"]})}
            for name, change in material(request, "state_changes").items()
        ]
    }


def _initial_queries(request: ModelRequest) -> object:
    state = _values(request, "initial_state")
    if len(state) <= 2:
        return {"queries": [{"exposed_states": state, "query": coded(state)}]}
    return {"queries": [{"exposed_states": {name: state[name]}, "query": coded({name: state[name]})} for name in state]}


def _update_queries(request: ModelRequest) -> object:
    groups = [group["state_transition"] for group in material(request, "context")]
    return {"queries": [coded({name: change["new"] for name, change in group.items()}) for group in groups]}


def _noise(request: ModelRequest) -> object:
    """Noise that spells what its assignment restates, and beside it the assignment itself, which no choice is."""
    queries: list[str] = []
    persons: dict[str, str] = {}
    for number, assignment in enumerate(material(request, "assignments"), start=1):
        restated = {name: fact["holds"] for name, fact in assignment.get("fact", {}).items() if "holds" in fact}
        queries.append(coded({**restated, "assignment": assignment}))
        if "persons" in assignment:
            persons[str(number)] = assignment["persons"][0]
    return {"queries": queries, **({"persons": persons} if persons else {})}


def _check_exposure(request: ModelRequest) -> object:
    """What the queries spell of the variables asked for; the last option for the rest, where all have to be named."""
    return {"readings": [{"id": number, "tells": tells} for number, tells in told_by_queries(request).items()]}


def _probe(request: ModelRequest) -> object:
    """What the queries spell, by number."""
    return {key: telling(request, decoded(text)) for key, text in material(request, "messages").items()}


def telling(request: ModelRequest, tells: Mapping[str, str]) -> dict[str, list[int]]:
    """A judge's reading of a query that tells these values and hints at none."""
    return {"told": by_number(request, tells), "hinted": []}


def by_number(request: ModelRequest, tells: Mapping[str, str]) -> list[int]:
    """The numbers of these values, as far as they are among the choices that a request shows by number."""
    _, numbers = numbered_choices(request)
    return [number for (name, choice), number in numbers.items() if tells.get(name) == choice]


def told_by_queries(request: ModelRequest) -> dict[int, dict[str, str]]:
    """What the request's queries spell, by number."""
    choices = material(request, "state_choices")
    left = {name: own[-1] for name, own in choices.items()} if "Name every variable" in request.messages[0].content else {}
    texts = {int(number): decoded(text) for number, text in material(request, "messages").items()}
    return {number: {**left, **{name: own[name] for name in choices if name in own}} for number, own in texts.items()}


def _redraft(request: ModelRequest) -> object:
    """The refused questions in other words, with information and choices that nothing else has."""
    redrafted: dict[str, object] = {}
    for key, refused in material(request, "questions").items():
        infos = [
            {"info_type": f"new_{name}", "info_choices": [f"new_{choice}" for choice in choices]}
            for name, choices in refused["required_info"].items()
        ]
        redrafted[key] = {"question": coded(key), "required_info": infos}
    return redrafted


def nothing_told(_: ModelRequest) -> dict[str, Any]:
    """The profile denies, announces and states nothing."""
    return {"denied": [], "announced": [], "stated": []}


def decided_by_all(request: ModelRequest) -> dict[str, list[int]]:
    """Every set of variables decides every question."""
    sets = [int(number) for number in material(request, "variable_sets")]
    return dict.fromkeys(material(request, "questions"), sets)


def _check_story(request: ModelRequest) -> object:
    """What the judged texts spell of the variables; they contradict nothing, and a summary sums up any period."""
    texts = material(request, "texts")
    found = {number: decoded(DAY.sub("", texts[str(number)])) for number in material(request, "judged")}
    told: dict[int, dict[str, str]] = {number: own if isinstance(own, dict) else {} for number, own in found.items()}
    readings = {str(number): by_number(request, own) for number, own in told.items()}
    reply: dict[str, object] = {"readings": readings, "contradictions": {}}
    if any("<periods>" in message.content for message in request.messages):
        periods = [int(number) for number in material(request, "periods")]
        reply["periods"] = dict.fromkeys(readings, periods)
    return reply


def numbered_choices(request: ModelRequest) -> tuple[dict[str, list[str]], dict[tuple[str, str], int]]:
    """The choices that a request shows by number, and the number of each variable's choice."""
    shown: dict[str, list[str]] = material(request, "state_choices")
    parts = {name: [one.partition(" ") for one in own] for name, own in shown.items()}
    numbers = {(name, choice): int(number) for name, own in parts.items() for number, _, choice in own}
    return {name: [choice for *_, choice in own] for name, own in parts.items()}, numbers


def _retell(_: ModelRequest) -> object:
    return {"period_summary": "Life went on after all."}


def _refine_event(request: ModelRequest) -> object:
    return {"event": coded({name: change["new"] for name, change in material(request, "state_changes").items()})}


def _refine_query(request: ModelRequest) -> object:
    return {"query": coded(_values(request, "exposed_states"))}


def _values(request: ModelRequest, tag: str) -> dict[str, str]:
    """The values of variables that are shown beside their alternatives."""
    return {name: one["value"] for name, one in material(request, tag).items()}


def _answers(request: ModelRequest) -> object:
    names = material(request, "required_info")
    return {key: coded(dict(zip(names, row, strict=True))) for key, row in material(request, "variants").items()}


def _check_answer(request: ModelRequest) -> object:
    """The situation that each answer spells; 0 where there is none."""
    chosen: dict[str, int] = {}
    for case in material(request, "cases").values():
        for key, text in case["answers"].items():
            fitting = [int(number) for number, state in situations_of(case).items() if state == decoded(text)]
            chosen[key] = next(iter(fitting), 0)
    return chosen


def situations_of(case: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The situations of a judge's case by number, each with its variables."""
    return {number: dict(zip(case["variables"], row, strict=True)) for number, row in case["situations"].items()}


def _choose(request: ModelRequest) -> object:
    """The answer that holds each situation; 0 where none does."""
    chosen: dict[str, int] = {}
    for case in material(request, "cases").values():
        for key, situation in situations_of(case).items():
            fitting = [int(number) for number, text in case["answers"].items() if decoded(text) == situation]
            chosen[key] = next(iter(fitting), 0)
    return chosen


def _guess(request: ModelRequest) -> object:
    """The options whose words come first in the alphabet, wherever they stand."""
    cases = {case: one["options"] for case, one in material(request, "cases").items()}
    return {case: int(min(own, key=lambda number: str(own[number]))) for case, own in cases.items()}


def _refine_answer(request: ModelRequest) -> object:
    return {"answer": coded(material(request, "matched_state"))}


HONEST: dict[str, Answer] = {
    "user_profiles/complete": _complete,
    "questions/draft": _questions,
    "state_schema/refine": _refine_schema,
    "state_schema/unify": _unify,
    "questions/redraft": _redraft,
    "state_schema/check_told": nothing_told,
    "state_schema/check_choices": lambda _: {"failing": []},
    "state_schema/check_pairs": lambda _: {"exclusive": []},
    "state_schema/check_profile": lambda _: {"contradictions": []},
    "state_schema/check_questions": decided_by_all,
    "state_trajectory/initial": _initial_state,
    "state_trajectory/update": update,
    "state_trajectory/check": _check_story,
    "state_trajectory/retell": _retell,
    "events/elaborate": _events,
    "events/refine": _refine_event,
    "session_queries/initial": _initial_queries,
    "session_queries/update": _update_queries,
    "session_queries/noise": _noise,
    "session_queries/probe": _probe,
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
