"""A page in a real browser: actions of an agent on it, and what pages can do wrong is a sentence."""

import http.server
import re
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import ClassVar

import pytest

from assets.worlds.tools import REFUSED
from pipelines.agents import browser_page
from pipelines.agents.browser_page import BrowserPage

pytestmark = pytest.mark.browser
PAGES = {
    "/": '<button onclick="location=`/next`">Next</button><button>Twin</button><button>Twin</button>'
    '<a href="//example.org/">away</a>',
    "/next": "<h1>Next page</h1>",
    "/busy": '<button onclick="while (true) {}">Spin</button>',
    "/fields": '<input type="date" value="2026-01-02" aria-label="Day"><input readonly aria-label="Fixed">'
    '<select multiple aria-label="Several"><option>One</option><option>Two</option><option>Three</option></select>'
    '<p>Read <span onclick="location=`/next`">on</span> here</p>',
    "/popup": '<button onclick="window.open(`/next`)">Open</button>',
}
# Ways to another server, by page; AWAY is its address.
WAYS_OUT = {
    "a picture": '<img src="http://AWAY/x" alt="">',
    "a script": "<script>fetch(`http://AWAY/x`, {mode: `no-cors`})</script>",
    "a socket": "<script>new WebSocket(`ws://AWAY/x`)</script>",
    "a redirect": '<script>location = "/redirect?AWAY"</script>',
}


class _Handler(http.server.BaseHTTPRequestHandler):
    """Serves PAGES; `asked` counts what came, and a redirect leads to the host behind the question mark."""

    asked: ClassVar[list[str]] = []
    pages: ClassVar[dict[str, str]] = PAGES

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path, _, host = self.path.partition("?")
        self.send_response(302 if path == "/redirect" else 200)
        if host:
            self.send_header("Location", f"http://{host}/x")
        body = f"<!doctype html><title>t</title>{self.pages.get(path, '')}".encode()
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(**attributes: object) -> Generator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"asked": [], **attributes}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def opened(server: http.server.ThreadingHTTPServer) -> Generator[BrowserPage]:
    with closing(BrowserPage(f"http://127.0.0.1:{server.server_port}")) as page:
        assert not page.call("go", {"path": "/"}).startswith(REFUSED)
        yield page


def without_marks(snapshot: str) -> str:
    """A snapshot without references, and without what is in focus."""
    return re.sub(r" \[(ref=\w+|active)\]", "", snapshot)


def test_a_click_leads_on_and_back_leads_back() -> None:
    with served() as server, opened(server) as page:
        assert 'heading "Next page"' in page.call("click", {"element": 'button "Next"'})
        assert 'button "Next"' in page.call("back", {})


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("go", {"path": "http://example.org/"}, "pages of this application alone can be opened"),
        ("click", {"element": 'button "Nobody"'}, "the page has no button of that name"),
        ("click", {"element": 'button "Twin"'}, '2 elements are button "Twin"; add #1 to #2'),
        ("click", {"element": "!"}, "name the element by role and name"),
        ("click", {"element": 'button "a\\q"'}, "name the element by role and name"),
        ("click", {"element": 'nothing "a"'}, REFUSED),
        ("go", {"path": "http://[/"}, "is no path; give one such as /."),
        ("click", {}, "click takes exactly these arguments: element"),
        ("fly", {}, "there is no tool 'fly'; there are go, back, click, type, select"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(tool: str, arguments: dict[str, str], sentence: str) -> None:
    with served() as server, opened(server) as page:
        told = page.call(tool, arguments)
        assert told.startswith(REFUSED)
        assert sentence in told


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_page_reaches_another_server(way: str) -> None:
    asked: list[str] = []
    with served(asked=asked) as other:
        content = WAYS_OUT[way].replace("AWAY", f"127.0.0.1:{other.server_port}")
        with served(pages={"/": "<p>Here</p>", "/out": content}) as server, opened(server) as page:
            page.call("go", {"path": "/out"})
            assert "Here" in page.call("go", {"path": "/"})
    assert asked == []


def test_a_link_to_another_site_leads_nowhere_and_a_popup_is_closed() -> None:
    with served() as server, opened(server) as page:
        page.call("click", {"element": 'link "away"'})
        page.call("go", {"path": "/popup"})
        page.call("click", {"element": 'button "Open"'})
        assert 'button "Next"' in page.call("go", {"path": "/"})


def test_a_page_that_never_settles_is_told_and_the_next_page_is_another_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_page, "SETTLE_MS", 4_000)
    with served() as server:
        with opened(server) as page:
            page.call("go", {"path": "/busy"})
            assert "did not do that within 4 seconds" in page.call("click", {"element": 'button "Spin"'})
        with opened(server) as page:
            assert 'heading "Next page"' in page.call("go", {"path": "/next"})


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("Day", "this field takes a date such as 2026-11-27, not '02/01/2026'"),
        ("Fixed", "this field cannot be typed into; where a click on it opens a choice, click"),
    ],
)
def test_a_field_that_does_not_take_a_text_says_so_and_keeps_what_it_holds(field: str, sentence: str) -> None:
    with served() as server, opened(server) as page:
        before = without_marks(page.call("go", {"path": "/fields"}))
        assert sentence in page.call("type", {"element": f'textbox "{field}"', "text": "02/01/2026"})
        assert 'textbox "Day": 2026-01-02' in before
        after = without_marks(page.call("select", {"element": 'listbox "Several"', "option": "One"}))
        assert after == before.replace('option "One"', 'option "One" [selected]')


def test_options_are_added_where_several_can_be_selected() -> None:
    with served() as server, opened(server) as page:
        page.call("go", {"path": "/fields"})
        page.call("select", {"element": 'listbox "Several"', "option": "One"})
        snapshot = without_marks(page.call("select", {"element": 'listbox "Several"', "option": "Three"}))
        assert re.findall(r'option "(\w+)" \[selected\]', snapshot) == ["One", "Three"]


def test_a_word_that_is_no_element_of_its_own_is_clicked_as_text() -> None:
    with served() as server, opened(server) as page:
        page.call("go", {"path": "/fields"})
        assert 'heading "Next page"' in page.call("click", {"element": 'text "on"'})


def test_a_server_that_dies_is_told() -> None:
    with served() as server:
        page = BrowserPage(f"http://127.0.0.1:{server.server_port}")
    with closing(page):
        assert page.call("go", {"path": "/"}) == f"{REFUSED}the application does not answer any more."
