"""Makes the calls of an errand on a company's pages: a search is a path, what is written is a form, a field a step."""

import json
from collections.abc import Iterable, Iterator
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

from assets.tool_dialogue.company import Call, Company
from assets.tool_dialogue.domains import Domain
from pipelines.agents.browser_page import CLICK, ELEMENT, GO, SELECT, TYPE
from pipelines.agents.company_site import SAVED
from pipelines.embedded.task import PromptTurn
from pipelines.embedded.tool_dialogue.calls import calls_made

SAVE = Call(tool=CLICK, arguments={"element": 'button "Save"'})


def next_on_pages(call: Call, actions: Iterable[tuple[Call, str]], domain: Domain) -> Call:
    """Return the next action on pages towards a call of a tool; `actions`: those that were taken, with what they showed."""
    steps = list(_steps_of(call, domain))
    taken = [action for action, _ in actions]
    # Whatever was filled in is gone when the form is opened again.
    since = max((place for place, action in enumerate(taken) if action == steps[0]), default=len(taken))
    return steps[min(len(taken) - since, len(steps) - 1)]


def _steps_of(call: Call, domain: Domain) -> Iterator[Call]:
    for table in domain.tables:
        if call.tool == domain.finder(table):
            yield Call(tool=GO, arguments={"path": f"/{table}?{urlencode(call.arguments)}"})
            return
    tool = next(one for one in Company(domain, ()).tools if one.name == call.tool)
    yield Call(tool=GO, arguments={"path": f"/do/{call.tool}"})
    for name, value in call.arguments.items():
        if "enum" in tool.arguments[name]:
            yield Call(tool=SELECT, arguments={"element": f'combobox "{name}"', "option": value})
        else:
            yield Call(tool=TYPE, arguments={"element": f'textbox "{name}"', "text": value})
    yield SAVE


def calls_on_pages(turns: Iterable[PromptTurn], domain: Domain) -> Iterator[tuple[Call, str]]:
    """Yield the calls of tools that were made on pages, with the rows that each gave back as JSON."""
    form = ""
    for action, shown in calls_made(turns):
        path = urlsplit(action.arguments.get("path", "")) if action.tool == GO else None
        if path is not None and path.path.startswith("/do/"):
            form = path.path.removeprefix("/do/")
        elif path is not None and path.query:
            call = Call(tool=domain.finder(path.path.strip("/")), arguments=dict(parse_qsl(path.query)))
            yield call, json.dumps(shown_rows(shown), ensure_ascii=False)
        elif action == SAVE and ("status", SAVED) in elements_of(shown):
            (row,) = shown_rows(shown)
            yield Call(tool=form, arguments=row), json.dumps(row, ensure_ascii=False)


def shown_rows(snapshot: str) -> list[dict[str, str]]:
    """Return the rows of the table in a snapshot, by the names of its columns."""
    columns: list[str] = []
    rows: list[dict[str, str]] = []
    for role, text in elements_of(snapshot):
        if role == "columnheader":
            columns.append(text)
        elif role == "row":
            rows.append({})
        elif role == "cell":
            rows[-1][columns[len(rows[-1])]] = text
    return [row for row in rows if row]


def elements_of(snapshot: str) -> Iterator[tuple[str, str]]:
    """Yield the elements of a snapshot in order, each with its role and its name, or else its text."""
    try:
        yield from _elements(yaml.load(snapshot, Loader=yaml.CBaseLoader))  # noqa: S506 - builds strings alone
    except yaml.YAMLError:
        return  # no snapshot, but a sentence


def _elements(node: object) -> Iterator[tuple[str, str]]:
    """Yield the elements of a part of a snapshot: a list of lines, or a line with what is in it."""
    if isinstance(node, list):
        for line in cast(list[object], node):
            yield from _elements(line)
        return
    lines = cast(dict[str, object], node) if isinstance(node, dict) else {str(node): None}
    for line, within in lines.items():
        match = ELEMENT.match(line)
        if match:
            text = "" if within is None or isinstance(within, list) else str(within)
            yield match["role"], json.loads(match["name"]) if match["name"] else text
        if isinstance(within, list):
            yield from _elements(cast(object, within))
