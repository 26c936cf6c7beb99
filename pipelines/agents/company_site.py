"""A company's tools as a web application, and a task that an agent does on its pages in a browser.

The application is a server of the standard library on loopback. It holds a tool dialogue: a search is the tool that finds rows,
a form is the tool that writes. So a task is the same by tools and on pages, and is graded by the same rows.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import jinja2

from assets.tool_dialogue.company import REFUSED, Call, Company, ToolDescription
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolRequest, ToolTask
from pipelines.agents.browser_page import CLICK, PAGE_TOOLS, BrowserPage, NoBrowser
from pipelines.agents.loopback import LoopbackServer, PageHandler

MOST_FORM_BYTES = 100_000
BROWSER_RULES = (
    "You work on the pages of the company's application. Begin by going to /. You are shown a page as its accessibility tree.",
    "Searches of a table can be opened by their path, such as /customers?name=Ann+Lee.",
)
SAVED = "Saved."


class CompanySite:
    """The application of one dialogue, served until it is closed. `origin`: its address without a path."""

    def __init__(self, dialogue: ToolDialogue) -> None:
        self.dialogue = dialogue
        self._lock = threading.Lock()
        site = self

        class CompanyHandler(PageHandler):
            def do_GET(self) -> None:
                self._shown(site.got(self.path))

            def do_POST(self) -> None:
                if self.body_length > MOST_FORM_BYTES:
                    self.answer(413, b"The form is too long.")
                    return
                body = self.rfile.read(self.body_length).decode("utf-8", errors="replace")
                self._shown(site.posted(self.path, dict(parse_qsl(body, keep_blank_values=True))))

            def _shown(self, page: tuple[int, str, str]) -> None:
                status, kind, text = page
                self.answer(status, text.encode(), kind=f"{kind}; charset=utf-8")

        self._server = LoopbackServer(CompanyHandler)
        self.origin = self._server.origin

    def close(self) -> None:
        self._server.close()

    @property
    def company(self) -> Company:
        return self.dialogue.company

    def got(self, target: str) -> tuple[int, str, str]:
        """Return status, type and text of a page, or of the state as JSON."""
        parts = urlsplit(target)
        if parts.path == "/":
            return self._page()
        if parts.path == "/api/state":
            tables = {table: self.company.rows(table) for table in self.dialogue.domain.tables}
            return 200, "application/json", json.dumps(tables, ensure_ascii=False)
        name = parts.path.removeprefix("/do/")
        tool = self._tool(name if parts.path.startswith("/do/") else self.dialogue.domain.finder(parts.path.strip("/")))
        if tool is None:
            return self._page(status=404, said="There is no such page.")
        given = {name: value for name, value in parse_qsl(parts.query) if value}
        if tool.writes:
            return self._page(tool, given)
        return self._found(tool, given) if given else self._page(tool)

    def posted(self, target: str, given: Mapping[str, str]) -> tuple[int, str, str]:
        """Return the answer to a form. `/api/reset` brings the rows back that were there at first."""
        if target == "/api/reset":
            with self._lock:
                self.dialogue.company = Company(self.dialogue.domain, self.dialogue.task.rows)
                self.dialogue.done.clear()
            return 200, "application/json", "{}"
        tool = self._tool(urlsplit(target).path.removeprefix("/do/"))
        if tool is None or not tool.writes:
            return self._page(status=404, said="There is no such page.")
        with self._lock:
            reply = self.dialogue.call(tool.name, given)
        if reply.startswith(REFUSED):
            return self._page(tool, given, said=f"Not saved: {reply.removeprefix(REFUSED)}")
        return self._page(tool, rows=[json.loads(reply)], said=SAVED)

    def _tool(self, name: str) -> ToolDescription | None:
        return next((tool for tool in self.company.tools if tool.name == name), None)

    def _found(self, tool: ToolDescription, given: Mapping[str, str]) -> tuple[int, str, str]:
        reply = self.company.call(Call(tool=tool.name, arguments=dict(given)))
        if reply.startswith(REFUSED):
            return self._page(tool, given, said=reply.removeprefix(REFUSED))
        rows = json.loads(reply)
        return self._page(tool, given, rows=rows, said="" if rows else "Nothing was found.")

    def _page(
        self,
        tool: ToolDescription | None = None,
        given: Mapping[str, str] | None = None,
        *,
        rows: Sequence[Mapping[str, str]] = (),
        said: str = "",
        status: int = 200,
    ) -> tuple[int, str, str]:
        domain = self.dialogue.domain
        tables = {domain.finder(name): name for name in domain.tables}
        text = _template().render(
            company=domain.company,
            does=domain.does,
            tables=tables,
            forms=[one.name for one in self.company.tools if one.writes],
            tool=tool,
            given=given or {},
            rows=rows,
            said=said,
        )
        return status, "text/html", text


@cache
def _template() -> jinja2.Template:
    text = Path(__file__).with_name("company_site.html.j2").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


class CompanyInBrowser:
    """A tool dialogue as a world in which an agent acts on pages. Close it after use."""

    def __init__(self, task: ToolTask | ToolRequest) -> None:
        self.dialogue = ToolDialogue(task)
        self._site = CompanySite(self.dialogue)
        try:
            self._page = BrowserPage(self._site.origin)
        except NoBrowser:
            self._site.close()
            raise

    def close(self) -> None:
        self._page.close()
        self._site.close()

    @property
    def rules(self) -> str:
        added = "\n".join(f"- {line}" for line in BROWSER_RULES)
        return f"{self.dialogue.rules}\n{added}"

    @property
    def opening(self) -> str:
        return self.dialogue.opening

    @property
    def ended(self) -> bool:
        return self.dialogue.ended

    @property
    def tools(self) -> list[ToolDescription]:
        return list(PAGE_TOOLS)

    def writes(self, tool: str) -> bool:
        """Return True for a click, which is the one action that can save a form."""
        return tool == CLICK

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Act on the page, and return its snapshot."""
        return self._page.call(tool, arguments)

    def say(self, text: str) -> str:
        return self.dialogue.say(text)

    @property
    def written(self) -> str:
        return self.dialogue.written

    @property
    def failed_by(self) -> str:
        return self.dialogue.failed_by
