"""Tasks of MiniWoB++ in a real browser: programs do them by what snapshots say and by our actions, and the pages grade them."""

import http.server
import json
import re
import threading
from calendar import month_name
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest
import yaml

from assets.worlds.tools import REFUSED
from pipelines.agents import browser_page
from pipelines.agents.browser_page import BrowserPage

pytestmark = pytest.mark.browser
SEED = 1
RENDER_MS = 20  # these pages draw at once
LINE = re.compile(r'(?P<role>[/a-z]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^]]*\])*)')
REFERENCE = re.compile(r"\[ref=(\w+)\]")
# Starts the episode of the seed in the address, without a clock, and tells its reward before the action that ended it is over.
EPISODE = """<script>
addEventListener("load", () => {
  const end = core.endEpisode;
  core.endEpisode = (reward, ...more) => {
    end(reward, ...more);
    const told = new XMLHttpRequest();
    told.open("GET", `/reward?${WOB_RAW_REWARD_GLOBAL}`, false);
    told.send();
  };
  core.EPISODE_MAX_TIME = 3600000;
  Math.seedrandom(location.search);
  core.startEpisodeReal();
});
</script>"""


class Line(NamedTuple):
    """A line of a snapshot. `name` is its name or its text, a `leaf` has no lines of its own, plain text has the role text."""

    role: str
    name: str
    reference: str
    leaf: bool


class Episode:
    """A task on its page. `asked` is what it asks; `lines` is the page as it is now."""

    def __init__(self, page: BrowserPage, path: str) -> None:
        self._page = page
        self._act("go", path=path)
        self.asked = self.texts("text")[0]

    def texts(self, role: str) -> list[str]:
        return [line.name for line in self.lines if line.role == role and line.name]

    def text_after(self, role: str, label: str) -> str:
        return next(after.name for line, after in pairwise(self.lines) if (line.role, line.name) == (role, label))

    def has_role(self, role: str) -> bool:
        return any(line.role == role for line in self.lines)

    def has(self, role: str, name: str) -> bool:
        return name in self.texts(role)

    def click(self, role: str, name: str | None = None, *, nth: int = 1) -> None:
        self._act("click", element=self._reference(role, name, nth))

    def click_icon(self, nth: int) -> None:
        icons = [line for line in self.lines if line.reference and line.leaf and (line.role, line.name) == ("generic", "")]
        self._act("click", element=icons[nth - 1].reference)

    def click_text(self, text: str, *, nth: int | None = None) -> None:
        self._act("click", element=f"text {json.dumps(text)}" + (f" #{nth}" if nth else ""))

    def try_text(self, text: str) -> bool:
        """Click a text that may not be there as an element of its own, and return whether it was."""
        return self._tried("click", element=f"text {json.dumps(text)}") == ""

    def type(self, text: str, *, role: str = "textbox", nth: int = 1) -> None:
        self._act("type", element=self._reference(role, None, nth), text=text)

    def select(self, role: str, option: str) -> None:
        self._act("select", element=self._reference(role, None, 1), option=option)

    def press(self, key: str, *, role: str = "textbox") -> None:
        self._act("press", element=self._reference(role, None, 1), key=key)

    def _reference(self, role: str, name: str | None, nth: int) -> str:
        found = [line for line in self.lines if line.role == role and line.reference and name in (None, line.name)]
        assert len(found) >= nth, f"no {role} {name} #{nth} in {self.lines}"
        return found[nth - 1].reference

    def _act(self, tool: str, **arguments: str) -> None:
        refusal = self._tried(tool, **arguments)
        assert not refusal, f"{tool} {arguments}: {refusal}"

    def _tried(self, tool: str, **arguments: str) -> str:
        """Act, and return the refusal, "" where there is none."""
        snapshot = self._page.call(tool, arguments)
        if snapshot.startswith(REFUSED):
            return snapshot
        self.lines = [_line(line) for line in snapshot.splitlines()]
        return ""


def _line(text: str) -> Line:
    entry: dict[str, str] | str = yaml.load(text.strip().removeprefix("- "), yaml.BaseLoader)
    key, value = next(iter(entry.items())) if isinstance(entry, dict) else (entry, "")
    match = LINE.fullmatch(key)
    if not match or (isinstance(entry, str) and not match["name"] and not match["marks"]):
        return Line("text", key, "", True)
    reference = REFERENCE.search(match["marks"])
    name = json.loads(match["name"]) if match["name"] else value
    return Line(match["role"], name, reference[1] if reference else "", not text.endswith(":"))


Program = Callable[[Episode], None]
PROGRAMS: dict[str, Program] = {}
MONTHS = tuple(month_name)[1:]


def plays(*names: str) -> Callable[[Program], Program]:
    """Enter a program as the one for these tasks."""

    def entered(program: Program) -> Program:
        PROGRAMS.update(dict.fromkeys(names, program))
        return program

    return entered


def quoted(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def submit(page: Episode) -> None:
    page.click("button", "Submit")


@plays("click-test")
def click_the_only_button(page: Episode) -> None:
    page.click("button")


@plays("click-test-2", "click-button-sequence")
def click_buttons(page: Episode) -> None:
    for name in re.findall(r"button ([A-Z]+)", page.asked):
        page.click("button", name)


@plays("click-button", "unicode-test")
def click_a_button(page: Episode) -> None:
    page.click("button", quoted(page.asked)[0])


@plays("click-dialog", "click-dialog-2")
def close_a_dialog(page: Episode) -> None:
    name = quoted(page.asked)[0]
    page.click("button", "Close" if name == "x" else name)


@plays("click-checkboxes", "click-checkboxes-large", "click-option")
def check(page: Episode) -> None:
    role = "checkbox" if page.has_role("checkbox") else "radio"
    named = re.sub(r"Select (.*) and click.*", r"\1", page.asked)
    for name in named.split(", "):
        if name != "nothing":
            page.click(role, name)
    submit(page)


@plays("choose-list", "click-scroll-list")
def select(page: Episode) -> None:
    role = "combobox" if page.has_role("combobox") else "listbox"
    named = re.sub(r"Select (.*) from the .*", r"\1", page.asked)
    for option in named.split(", "):
        page.select(role, option)
    submit(page)


@plays("click-link")
def click_a_link(page: Episode) -> None:
    page.click_text(quoted(page.asked)[0])


@plays("click-collapsible")
def expand(page: Episode) -> None:
    page.click("tab")
    submit(page)


@plays(
    "click-collapsible-2",
    "click-tab-2",
    "click-tab-2-hard",
)
def find_a_link_behind_tabs(page: Episode) -> None:
    link = quoted(page.asked)[0]
    tabs = [line for line in page.lines if line.role in ("tab", "link") and line.name]
    for tab in tabs:
        page.click(tab.role, tab.name)
        if page.try_text(link):
            break


@plays("click-tab")
def click_a_tab(page: Episode) -> None:
    page.click("link", re.sub(r"Click on (.*)\.", r"\1", page.asked))


@plays("click-menu")
def open_menus_by_keys(page: Episode) -> None:
    names = page.asked.removeprefix("Select ").split(">")
    first = 0
    for name in names[:-1]:
        place = page.texts("menuitem").index(name)
        for key in ["ArrowDown"] * (place - first) + ["ArrowRight"]:
            page.press(key, role="menu")
        first = place + 1
    page.click("menuitem", names[-1])


@plays("enter-text", "enter-text-2")
def enter_a_text(page: Episode) -> None:
    text = quoted(page.asked)[0]
    if "upper case" in page.asked:
        text = text.upper()
    if "lower case" in page.asked:
        text = text.lower()
    page.type(text)
    submit(page)


@plays("enter-password")
def enter_a_password(page: Episode) -> None:
    password = quoted(page.asked)[0]
    page.type(password)
    page.type(password, nth=2)
    submit(page)


@plays("login-user", "login-user-popup")
def log_in(page: Episode) -> None:
    for nth, text in enumerate(quoted(page.asked), start=1):
        page.click("textbox", nth=nth)
        if page.has("button", "Cancel"):
            page.click("button", "Cancel")
        page.type(text, nth=nth)
    page.click("button")


@plays("enter-date")
def enter_a_date(page: Episode) -> None:
    month, day, year = _date(page)
    page.type(f"{year}-{month}-{day}")
    submit(page)


@plays("enter-time")
def enter_a_time(page: Episode) -> None:
    hour, minute, half = re.findall(r"\d+|[AP]M", page.asked)
    page.type(f"{int(hour) % 12 + 12 * (half == 'PM'):02}:{minute}")
    submit(page)


@plays("choose-date")
def choose_a_date(page: Episode) -> None:
    page.click("textbox")
    _pick_the_date(page)
    submit(page)


def _date(page: Episode) -> list[str]:
    """Return month, day and year of the date that is asked for."""
    return re.findall(r"(\d\d)/(\d\d)/(\d{4})", page.asked)[0]


def _pick_the_date(page: Episode) -> None:
    month, day, year = _date(page)
    wanted = int(year) * 12 + int(month) - 1
    while True:
        name, _, shown = next(text for text in page.texts("text") if text.startswith(MONTHS)).partition(" ")
        away = int(shown) * 12 + MONTHS.index(name) - wanted
        if not away:
            break
        page.click("generic", "Prev" if away > 0 else "Next")
    page.click("link", str(int(day)))


@plays("focus-text", "focus-text-2")
def focus(page: Episode) -> None:
    page.click("textbox", nth=_place(page.asked))


def _place(text: str) -> int:
    """Return the number of the first place that a text names, 1 where it names none."""
    found = re.search(r"(\d+)(?:st|nd|rd|th)", text)
    return int(found[1]) if found else 1


@plays("find-word")
def find_a_word(page: Episode) -> None:
    words = page.texts("paragraph")[0].split()
    page.type(words[_place(page.asked) - 1].strip(",."))
    submit(page)


@plays("read-table")
def read_a_value(page: Episode) -> None:
    label = re.sub(r"Enter the value of (.*) into .*", r"\1", page.asked)
    page.type(page.text_after("cell", label))
    submit(page)


@plays("read-table-2")
def read_values(page: Episode) -> None:
    labels = [text.removesuffix(":") for text in page.texts("text") if text.endswith(":")]
    for nth, label in enumerate(labels[:2], start=1):
        page.type(page.text_after("cell", label), nth=nth)
    submit(page)


@plays("form-sequence-2")
def fill_in_a_form(page: Episode) -> None:
    button, field = page.asked.split(" and ")
    page.click("radio", nth=_place(button))
    page.type(quoted(field)[0], nth=_place(field))
    submit(page)


@plays("form-sequence-3")
def choose_and_click(page: Episode) -> None:
    page.select("combobox", re.sub(r"Choose (.*) from .*", r"\1", page.asked))
    page.click("button", quoted(page.asked)[0])


@plays("multi-layouts", "multi-orderings")
def search_films(page: Episode) -> None:
    asked = re.match(r"Search for (?P<Genre>.*) movies directed by (?P<Director>.*) from year (?P<Year>\d+)", page.asked)
    assert asked
    nth = 0
    for label in page.texts("text") + page.texts("rowheader"):
        kind = re.search("Genre|Director|Year", label.replace("Date", "Year"))
        if kind:
            nth += 1
            page.type(asked[kind[0]], nth=nth)
    page.click_text(next(line.name for line in page.lines if line.name in ("Search", "Submit", "Go!")))


@plays("search-engine")
def find_a_result(page: Episode) -> None:
    page.type(quoted(page.asked)[0])
    page.click("button", "Search")
    place = _place(page.asked)
    for _ in range((place - 1) // 3):
        page.click("link", ">")
    page.click("link", nth=(place - 1) % 3 + 1)


@plays("use-autocomplete-nodelay")
def take_a_suggestion(page: Episode) -> None:
    start, *end = quoted(page.asked)
    page.type(start)
    found = [text for text in page.texts("text") if text.startswith(start) and text.endswith(tuple(end) or "")]
    page.click_text(found[0])
    submit(page)


@plays("use-spinner")
def set_a_spinner(page: Episode) -> None:
    page.type(re.findall(r"-?\d+", page.asked)[0], role="spinbutton")
    submit(page)


@plays("guess-number")
def guess(page: Episode) -> None:
    low, high = 0, 9
    while low <= high:
        number = (low + high) // 2
        page.type(str(number), role="spinbutton")
        submit(page)
        if f"The number is lower than {number}." in page.texts("text"):
            high = number - 1
        elif f"The number is higher than {number}." in page.texts("text"):
            low = number + 1
        else:
            break


@plays("order-food")
def order(page: Episode) -> None:
    dishes: list[set[str]] = [set()]
    for line in page.lines:
        if line.name == "- +":
            dishes.append(set())
        elif line.role in ("text", "img"):
            dishes[-1].add(line.name)
    of_a_kind = re.match(r"Order (\d+) items that are (.*)", page.asked)
    wanted = {of_a_kind[2]} if of_a_kind else set(page.asked.partition(": ")[2].split(", "))
    places = [place for place, said in enumerate(dishes, start=1) if said & wanted]
    for place in places[: int(of_a_kind[1]) if of_a_kind else None]:
        page.click_text("+", nth=place)
    page.click("button", "Order!")


@plays("phone-book")
def find_a_contact(page: Episode) -> None:
    person, wanted = re.findall(r"Find (.*) in the contact book and click on their (.*)\.", page.asked)[0]
    while not page.has("heading", person):
        page.click("link", ">")
    label = {"phone number": "Phone:", "email": "Email:", "address": "Address:"}[wanted]
    page.click_text(page.text_after("text", label))


@plays("buy-ticket")
def buy(page: Episode) -> None:
    _buy_the(re.findall("shortest|longest|cheapest|most expensive", page.asked)[0], page)


def _buy_the(wanted: str, page: Episode) -> None:
    offers = [name for name in page.texts("button") if "$" in name]
    if wanted in ("shortest", "longest"):
        spans = re.findall(r"(\d+)h (\d+)m", "\n".join(page.texts("text")))
        sizes = [60 * int(hours) + int(minutes) for hours, minutes in spans]
    else:
        sizes = [int(name.partition("$")[2]) for name in offers]
    size = max(sizes) if wanted in ("longest", "most expensive") else min(sizes)
    page.click("button", offers[sizes.index(size)])


@plays("book-flight-nodelay")
def book(page: Episode) -> None:
    wanted, start, end = re.findall(r"Book the (\w+) .* from: (.*) to: (.*) on", page.asked)[0]
    for nth, place in enumerate((start, end), start=1):
        page.type(place, nth=nth)
        page.click_text(next(text for text in reversed(page.texts("text")) if place in text and text != page.asked))
    page.click("textbox", nth=3)
    _pick_the_date(page)
    page.click("button", "Search")
    _buy_the(wanted, page)


@plays("terminal")
def delete_a_file(page: Episode) -> None:
    for key in ("l", "s", "Enter"):
        page.press(key)
    shown = page.texts("text")
    files = shown[shown.index("user$ ls") + 1].split()
    ending = re.search(r"extension (\.\S+)", page.asked)
    wanted = next(name for name in files if (name.endswith(ending[1]) if ending else "." not in name))
    for key in ("r", "m", "Space", *wanted, "Enter"):
        page.press(key)


@plays(
    "email-inbox-delete",
    "email-inbox-forward",
    "email-inbox-important",
    "email-inbox-reply",
    "email-inbox-star-reply",
)
def handle_an_email(page: Episode) -> None:
    """Icons have no names, and are known by their places: back, trash and star above an email, back and send above a reply."""
    sender = re.findall(r"email by (\w+)", page.asked)[0]
    page.click_text(sender, nth=2)  # the first is in the task
    if "trash" in page.asked or "star" in page.asked:
        page.click_icon(2 if "trash" in page.asked else 3)
        return
    if "forward" in page.asked:
        page.click_text("Forward")
        page.type(re.findall(r"to (\w+)\.", page.asked)[0])
    else:
        page.click_text("Reply")
        page.type(quoted(page.asked)[0])
    page.click_icon(2)


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves what the package brings, with the script that starts the episode; `rewards` is what the pages told."""

    rewards: ClassVar[list[float]] = []

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/reward":
            self.rewards.append(float(query))
            self._answer("")
        elif path.endswith(".html"):
            self._answer(Path(self.translate_path(path)).read_text(encoding="utf-8") + EPISODE)
        else:
            super().do_GET()

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def page() -> Generator[BrowserPage]:
    package = find_spec("miniwob")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0]) / "html"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with closing(BrowserPage(f"http://127.0.0.1:{server.server_port}")) as opened:
        yield opened
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("task", PROGRAMS)
def test_a_task_is_done_by_what_the_snapshot_says(task: str, page: BrowserPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_page, "RENDER_MS", RENDER_MS)
    _Handler.rewards.clear()
    PROGRAMS[task](Episode(page, f"/miniwob/{task}.html?{SEED}"))
    assert _Handler.rewards == [1.0]


def test_the_page_tells_a_wrong_action_from_a_right_one(page: BrowserPage) -> None:
    _Handler.rewards.clear()
    Episode(page, f"/miniwob/click-test-2.html?{SEED}").click("button", "TWO")
    assert _Handler.rewards == [-1.0]
