"""Makes the calls of an errand on a company's pages: a search is a path, what is written is a form, a field a step."""

import json
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit

from assets.tool_dialogue.company import Call, Company
from assets.tool_dialogue.domains import Domain
from pipelines.agents.browser_page import CLICK, GO, SELECT, TYPE, shown_rows, shown_texts
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
        elif action == SAVE and SAVED in shown_texts(shown, "status"):
            (row,) = shown_rows(shown)
            yield Call(tool=form, arguments=row), json.dumps(row, ensure_ascii=False)
