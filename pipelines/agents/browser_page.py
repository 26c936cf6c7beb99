"""A page in a real browser, as an agent sees and uses it: accessibility snapshots, and actions on the elements in them.

An element is named by its reference, because many have neither a role nor a name; or by role and name where it has them.
A page belongs to one origin. Everything else, redirects and sockets too, is sent to a proxy that is not there.
"""

import asyncio
import importlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary

from assets.worlds.tools import REFUSED, ToolDescription

T = TypeVar("T")

SETTLE_MS = 10_000  # in which an action has to be done, and the page has to be quiet
NOWHERE = "http://127.0.0.1:1"  # where nothing listens
MOST_WINDOWS = 8  # of a browser that are open at once
_WINDOWS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
FLAGS = ("--disable-gpu", "--disable-dev-shm-usage")
INSTALL = "install it on Debian with `apt-get install chromium`, or set CHROMIUM to the path of a Chromium"
RENDER_MS = 300  # in which pages show what an action did; some draw a fifth of a second late
GO, BACK, CLICK, TYPE, SELECT, PRESS = "go", "back", "click", "type", "select", "press"
ELEMENT = re.compile(r'^-?\s*(?P<role>[a-z]+)(?:\s+(?P<name>"(?:[^"\\]|\\.)*"))?(?:\s+#(?P<nth>[1-9][0-9]*))?')
REFERENCE = re.compile(r"(?:^|\[ref=)((?:f\d+)?e\d+)(?:$|\])")
PLAIN = re.compile(r"(?m)^( *- )(?:generic \[ref=\w+\]: |(generic) \[ref=\w+\](?=:$))")  # text, or a box around others
# Of fields that a browser empties when it cannot read what is put into them: the form that they take.
DATED = {"date": "2026-11-27", "time": "15:30", "datetime-local": "2026-11-27T15:30", "month": "2026-11", "week": "2026-W48"}
TEXT = {"type": "string"}
PATH = {**TEXT, "description": "such as / or /orders?id=3"}
ON = {
    **TEXT,
    "description": 'a line of the snapshot with its reference, or the reference alone, such as e12; plain text as text "Next"',
}
KEY = {**TEXT, "description": "such as Enter or Escape"}
PAGE_TOOLS = (
    ToolDescription(GO, "Opens a page.", {"path": PATH}, ("path",), False),
    ToolDescription(BACK, "Goes back to the page before.", {}, (), False),
    ToolDescription(CLICK, "Clicks an element.", {"element": ON}, ("element",), True),
    ToolDescription(TYPE, "Puts a text into a field.", {"element": ON, "text": TEXT}, ("element", "text"), False),
    ToolDescription(SELECT, "Selects an option of a list.", {"element": ON, "option": TEXT}, ("element", "option"), False),
    ToolDescription(PRESS, "Presses a key in an element.", {"element": ON, "key": KEY}, ("element", "key"), True),
)


def browser_windows() -> asyncio.Semaphore:
    """Return the windows that may be open at once, for the running event loop; an episode holds one of them."""
    return _WINDOWS.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_WINDOWS))


class NoBrowser(Exception):
    """There is no browser to act in; the message says what to install."""


class BrowserPage:
    """One page with storage of its own, at one origin such as `http://127.0.0.1:4711`. Close it after use.

    Every action returns the snapshot of the page after it, or a sentence that begins with `REFUSED`. The snapshot gives each
    element that can be used a reference, as `PAGE_TOOLS` take it. Nothing that an agent does raises.
    """

    def __init__(self, origin: str) -> None:
        """Open a page. Raises NoBrowser."""
        self.origin = origin
        self._page: Any = _CHROMIUM.run(self._open)

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Do what a tool of `PAGE_TOOLS` does."""
        known = {description.name: description for description in PAGE_TOOLS}
        if tool not in known:
            return f"{REFUSED}there is no tool {tool!r}; there are {', '.join(known)}."
        if set(arguments) != set(known[tool].required):
            return f"{REFUSED}{tool} takes exactly these arguments: {', '.join(known[tool].required) or 'none'}."
        return _CHROMIUM.run(lambda: self._act(tool, arguments))

    def close(self) -> None:
        _CHROMIUM.run(self._page.context.close)

    def _open(self) -> Any:
        proxy = {"server": NOWHERE, "bypass": urlsplit(self.origin).netloc}
        context = _CHROMIUM.browser().new_context(accept_downloads=False, service_workers="block", proxy=proxy)
        context.set_default_timeout(SETTLE_MS)
        page = context.new_page()
        context.on("page", _close)  # a popup: the agent sees one page
        return page

    def _act(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Act, and return the snapshot. Runs in the browser's thread."""
        page = self._page
        try:
            if tool == GO:
                self._go(page, arguments["path"])
            elif tool == BACK:
                page.go_back()
            else:
                element = _element(page, arguments["element"])
                if tool == CLICK:
                    element.click()
                elif tool == TYPE:
                    _type(element, arguments["text"])
                elif tool == PRESS:
                    element.press(arguments["key"])
                else:
                    element.select_option(label=[*_selected_options(element), arguments["option"]])
            page.wait_for_load_state("load")
            page.wait_for_timeout(RENDER_MS)
            return shorten_snapshot(page.locator("body").aria_snapshot(mode="ai"))
        except _Refusal as refusal:
            return f"{REFUSED}{refusal}"
        except _CHROMIUM.errors() as error:
            return f"{REFUSED}{_sentence(error)}"

    def _go(self, page: Any, path: str) -> None:
        try:
            url = urljoin(f"{self.origin}/", path)
            parts = urlsplit(url)
        except ValueError as error:
            raise _Refusal(f"{path[:80]!r} is no path; give one such as /.") from error
        if f"{parts.scheme}://{parts.netloc}" != self.origin:
            raise _Refusal("pages of this application alone can be opened; give a path such as /.")
        page.goto(url)


def shorten_snapshot(snapshot: str) -> str:
    """Return a snapshot with references without those of plain text and boxes, and with half of its indentation.

    A list of many rows is a third shorter so.
    """
    with_use = PLAIN.sub(r"\1\2", snapshot).replace(" [cursor=pointer]", "")
    return re.sub(r"(?m)^(?:  )+", lambda spaces: spaces[0][::2], with_use)


def _close(page: Any) -> None:
    page.close()


class _Refusal(Exception):
    """An action that cannot be done; the message is a sentence for the agent."""


def _element(page: Any, written: str) -> Any:
    """Return the element that an agent names as the snapshot does. Raises _Refusal where it is not on the page."""
    reference = REFERENCE.search(written.strip())
    if reference:
        referred = page.locator(f"aria-ref={reference[1]}")
        if not referred.count():
            raise _Refusal(f"the page has no {reference[1]} any more; take a reference from the last snapshot.")
        return referred
    match = ELEMENT.match(written.strip())
    named: dict[str, Any] = {}
    try:
        if match and match["name"]:
            named = {"name": json.loads(match["name"]), "exact": True}
    except ValueError:  # a backslash that escapes nothing
        match = None
    if not match:
        raise _Refusal(f'name the element by role and name as the snapshot does, such as button "Save", not {written[:80]!r}.')
    if match["role"] == "text" and named:
        found = page.get_by_text(named["name"], exact=True).filter(visible=True)
    else:
        found = page.get_by_role(match["role"], **named)
    count = found.count()
    place = int(match["nth"] or 1)
    if count < place:
        raise _Refusal(f"the page has {count or 'no'} {match['role']} of that name: {written[:80]}.")
    if count > 1 and not match["nth"]:
        raise _Refusal(f"{count} elements are {written[:80]}; add #1 to #{count}.")
    return found.nth(place - 1)


def _type(element: Any, text: str) -> None:
    """Put a text into a field. Raises _Refusal where the field takes none, or not this one; it stays as it was."""
    if not element.is_editable():
        raise _Refusal("this field cannot be typed into; where a click on it opens a choice, click.")
    kind = element.get_attribute("type")
    before = element.input_value() if kind in DATED else ""
    element.fill(text)
    if kind in DATED and text and not element.input_value():
        element.fill(before)
        raise _Refusal(f"this field takes a {kind} such as {DATED[kind]}, not {text[:80]!r}.")


def _selected_options(element: Any) -> list[str]:
    """Return the options that stay selected when one more is: all in a list of which several can be selected."""
    return list(element.evaluate("list => [...(list.multiple && list.selectedOptions) || []].map(option => option.label)"))


def _sentence(error: Exception) -> str:
    """Return the first line of a browser's error, which names no file."""
    text = str(error).strip().splitlines()[0].removeprefix("Page.").removeprefix("Locator.")
    if "Timeout" in text:
        return f"the page did not do that within {SETTLE_MS // 1000} seconds."
    if "ERR_CONNECTION" in text or "ERR_EMPTY_RESPONSE" in text:
        return "the application does not answer any more."
    return f"the browser could not do that: {text[:200]}"


class _Chromium:
    """The browser of this process, and the thread that drives it, to which all of Playwright's objects belong.

    It ends with the process: Playwright's driver stops it when nobody holds its other end.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")
        self._playwright: Any = None
        self._browser: Any = None

    def run(self, work: Callable[[], T]) -> T:
        """Return what the work comes to in the browser's thread."""
        return self._thread.submit(work).result()

    def browser(self) -> Any:
        """Return the running browser. Raises NoBrowser where there is none to start."""
        if self._browser is None or not self._browser.is_connected():
            api = playwright_api()
            path = chromium_path()
            if self._playwright is None:
                self._playwright = api.sync_playwright().start()
            try:
                self._browser = self._launch(path)
            except api.Error as error:
                raise NoBrowser(f"{path} does not start as a browser: {_sentence(error)}") from error
        return self._browser

    def _launch(self, path: str) -> Any:
        """Start the browser in its own sandbox, which neither root nor every container has."""
        launch = partial(self._playwright.chromium.launch, executable_path=path, args=list(FLAGS))
        if os.geteuid() != 0:
            try:
                return launch(chromium_sandbox=True)
            except self.errors():
                pass
        return launch(chromium_sandbox=False)

    def errors(self) -> type[Exception]:
        """Return the class of Playwright's errors."""
        error: type[Exception] = playwright_api().Error
        return error


_CHROMIUM = _Chromium()


def playwright_api() -> Any:
    """Return Playwright's module. Raises NoBrowser with what to install."""
    try:
        return importlib.import_module("playwright.sync_api")
    except ImportError:
        raise NoBrowser("Acting in a browser needs the extra `browser`: install it with pip install -e '.[browser]'.") from None


def chromium_path() -> str:
    """Return the path of the browser. Raises NoBrowser where there is none."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
    if not path or not shutil.which(path):
        where = f"CHROMIUM names {path}, which is no program" if path else "there is no chromium"
        raise NoBrowser(f"Acting in a browser needs Chromium, and {where}; {INSTALL}.")
    return path


def expect_browser() -> None:
    """Raise NoBrowser, before anything is paid, where no browser can be started."""
    playwright_api()
    chromium_path()
