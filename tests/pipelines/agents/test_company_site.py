"""A company's pages over HTTP: searches and forms are its tools, and what they change is what the grade looks at."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import pytest

from assets.tool_dialogue.company import Call
from assets.tool_dialogue.dialogue import ToolDialogue
from pipelines.agents.browser_page import NoBrowser, chromium_path
from pipelines.agents.company_site import MOST_FORM_BYTES, CompanySite
from pipelines.embedded.tool_dialogue.browsing import elements_of, next_on_pages, shown_rows
from tests.support.tool_dialogues import made_dialogue


@pytest.fixture
def site() -> Iterator[CompanySite]:
    with closing(CompanySite(ToolDialogue(made_dialogue().instance))) as serving:
        yield serving


def get(site: CompanySite, path: str) -> str:
    with urllib.request.urlopen(f"{site.origin}{path}", timeout=30) as answer:
        return str(answer.read().decode())


def post(site: CompanySite, path: str, fields: dict[str, str]) -> str:
    body = urllib.parse.urlencode(fields).encode()
    with urllib.request.urlopen(f"{site.origin}{path}", data=body, timeout=30) as answer:
        return str(answer.read().decode())


def written(site: CompanySite) -> Call:
    return made_dialogue().instance.calls[-1]


def test_the_first_page_leads_to_every_table_and_form(site: CompanySite) -> None:
    page = get(site, "/")
    for table in site.dialogue.domain.tables:
        assert f'href="/{table}"' in page
    for tool in site.dialogue.domain.tools:
        assert f'href="/do/{tool}"' in page


def test_a_search_shows_the_row_and_changes_nothing(site: CompanySite) -> None:
    customer = made_dialogue().instance.errand.customer
    page = get(site, f"/customers?{urllib.parse.urlencode({'name': customer})}")
    assert f"<td>{customer}</td>" in page
    assert site.dialogue.done == []
    assert "Nothing was found." in get(site, "/customers?name=Nobody")


def test_the_right_form_and_the_reference_pass_the_task(site: CompanySite) -> None:
    task = made_dialogue().instance
    page = post(site, f"/do/{written(site).tool}", written(site).arguments)
    assert 'role="status">Saved.' in page
    assert task.said in page
    site.dialogue.say(f"The reference is {task.said}.")
    assert site.dialogue.failed_by == ""


def test_a_refused_form_says_why_and_keeps_what_was_typed(site: CompanySite) -> None:
    fields = {**written(site).arguments, "customer_id": "<b>C-1</b>"}
    page = post(site, f"/do/{written(site).tool}", fields)
    assert "Not saved: no row of customers has the customer_id" in page
    assert 'value="&lt;b&gt;C-1&lt;/b&gt;"' in page
    assert "<b>C-1</b>" not in page


def test_the_state_can_be_read_and_reset(site: CompanySite) -> None:
    before = json.loads(get(site, "/api/state"))
    post(site, f"/do/{written(site).tool}", written(site).arguments)
    assert json.loads(get(site, "/api/state")) != before
    post(site, "/api/reset", {})
    assert json.loads(get(site, "/api/state")) == before
    assert site.dialogue.written == ""


@pytest.mark.parametrize("path", ["/nothing", "/do/fly", "/do/"])
def test_a_page_that_is_not_there_is_said_to_be_missing(site: CompanySite, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        get(site, path)
    assert error.value.code == 404
    assert "There is no such page." in error.value.read().decode()


def test_a_form_beyond_the_limit_is_refused(site: CompanySite) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        post(site, f"/do/{written(site).tool}", {"customer_id": "x" * MOST_FORM_BYTES})
    assert error.value.code == 413


SNAPSHOT = r"""
- main:
  - status: Saved.
  - table:
    - rowgroup:
      - row "id note":
        - columnheader "id"
        - columnheader "note"
    - rowgroup:
      - row "C-1 a \"b\"":
        - cell "C-1"
        - cell "a \"b\""
      - 'row "C-2 c: d"':
        - cell "C-2"
        - 'cell "c: d"'
      - row "C-3":
        - cell "C-3"
        - cell
"""


def test_rows_are_read_out_of_a_snapshot_as_they_are_shown() -> None:
    assert shown_rows(SNAPSHOT) == [
        {"id": "C-1", "note": 'a "b"'},
        {"id": "C-2", "note": "c: d"},
        {"id": "C-3", "note": ""},
    ]
    assert ("status", "Saved.") in elements_of(SNAPSHOT)
    assert list(elements_of("Refused: the page: has no button.")) == []


def test_a_call_that_writes_is_a_form_filled_in_field_by_field_and_saved(site: CompanySite) -> None:
    call, actions = written(site), list[tuple[Call, str]]()
    while not actions or actions[-1][0].tool != "click":
        actions.append((next_on_pages(call, actions, site.dialogue.domain), ""))
    tools = [action.tool for action, _ in actions]
    assert tools[0] == "go"
    assert len(tools) == len(call.arguments) + 2
    typed = [action.arguments.get("text") or action.arguments.get("option") for action, _ in actions[1:-1]]
    assert typed == list(call.arguments.values())


def test_a_chromium_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NoBrowser, match="CHROMIUM names /nowhere/chromium, which is no program; install it"):
        chromium_path()
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoBrowser, match="there is no chromium"):
        chromium_path()
