"""What a reader does on an evaluation's pages, done by a real browser on the files themselves."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pipelines.evaluation.folder import PAGE, FinishedRun
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import write_leaderboard
from pipelines.memories.contract import MemorySpec
from tests.browser.pages import Visit, visit
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

pytestmark = pytest.mark.browser
# A table beside the board's, which has one rival.
SORTABLE = """document.querySelector("#leaderboard").append(
  sortable(table(["name", "score"], [["b", ".5"], ["a", "-"], ["c", "1,000"]])))"""
# The marks of each chart's scale, from above.
TOPS = """charts => charts.map((chart) => [...chart.querySelectorAll("text[text-anchor=end]")]
  .sort((one, other) => one.getAttribute("y") - other.getAttribute("y")).map((text) => text.textContent))"""
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><b>Noted</b>"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with runs of no, a forgetful and a searching memory, whose replies are hostile, and their board."""
    place = tmp_path_factory.mktemp("home")
    kinds = {"none": {}, "window": {"most_tokens": 1}, "rag": {"topk": 3}}
    runs = [_run(place / "runs", kind, **settings) for kind, settings in kinds.items()]
    write_leaderboard(compare_runs(runs), runs=place / "runs")
    return place


def _run(place: Path, kind: str, **settings: int) -> FinishedRun:
    return finish(run_of(place, HonestModel({"chat": HOSTILE}), spec=MemorySpec(name=kind, kind=kind, settings={**settings})))


@pytest.fixture(scope="module")
def reader(home: Path, browser: Browser, shots: Path | None) -> Generator[Visit]:
    with visit(browser, home.as_uri(), shots=shots) as here:
        yield here


def opened(reader: Visit, home: Path, kind: str, *, at: str = "") -> Page:
    """The page of the assistant's run; whatever goes wrong on it fails the test."""
    [folder] = (home / "runs").glob(f"rehearsal-{kind}-*")
    page = reader.open(f"/runs/{folder.name}/{PAGE}{at}", height=1400)
    expect(page.locator("#list tbody tr").first).to_be_visible()
    return page


def choice(page: Page, name: str) -> Locator:
    """The filter of this name."""
    return page.get_by_role("combobox", name=name, exact=True)


def found(page: Page) -> int:
    """How many answers the filters let through."""
    return int(page.locator("#found").inner_text().split()[0])


def found_with(page: Page, name: str, value: str) -> int:
    """How many answers are left with another value of a filter; the list changes once the users' lives are unpacked."""
    before = page.locator("#found").inner_text()
    choice(page, name).select_option(value)
    expect(page.locator("#found")).not_to_have_text(before)
    return found(page)


def test_the_filters_narrow_the_list_and_can_be_linked_to(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "none")
    every = found_with(page, "User", "")
    wrong = found_with(page, "Outcome", "wrong")
    reader.shoot(page, "20_evaluation_wrong_answers")
    last = found_with(page, "Period", "2")
    linked = opened(reader, home, "none", at=f"#{page.url.partition('#')[2]}")

    assert every > wrong > last > 0
    assert found(linked) == last
    expect(choice(linked, "Outcome")).to_have_value("wrong")
    expect(page.locator("#detail .mark.given")).to_have_count(1)


def test_words_are_looked_for_in_questions_replies_and_memories(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "rag")
    page.get_by_label("Words").fill("no such words anywhere")
    page.get_by_label("Words").press("Enter")

    expect(page.locator("#detail")).to_contain_text("No answer fits these filters.")


def test_a_cell_of_the_heat_map_opens_its_answers(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "window")
    page.locator("#periods").get_by_role("button", name=re.compile("^not written, period 1")).click()
    expect(choice(page, "Period")).to_have_value("1")
    expect(choice(page, "Lost by")).to_have_value("not_written")

    assert found(page) > 0


def test_the_words_of_outcomes_are_explained_beside_them(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "window")
    shown = {text.partition(" (")[2].rstrip(")") for text in page.locator("#list td:last-child").all_inner_texts()} - {""}
    assert shown
    for word in shown:
        expect(page.locator("#outcomes")).to_contain_text(f"wrong ({word}): ")


def test_an_answer_is_read_by_keyboard_with_its_memories_and_dialogue(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "rag")
    page.locator("#list button").nth(3).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#list tr[aria-current=true]")).to_have_count(1)
    choice(page, "Period").focus()
    page.keyboard.press("End")  # the last period, whose answers have memories
    page.get_by_text("Dialogue", exact=True).click()
    expect(page.locator("#detail .turn.assistant").first).to_contain_text("onerror")
    expect(page.locator("#detail li.text").first).to_be_visible()
    reader.shoot(page, "21_evaluation_answer")


def test_hostile_replies_are_text_and_the_script_runs_without_a_fault(reader: Visit, home: Path) -> None:
    [folder] = (home / "runs").glob("rehearsal-rag-*")
    page, faults = reader.open("/"), list[str]()
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{reader.url}/runs/{folder.name}/{PAGE}")
    page.locator("#detail summary", has_text="Dialogue").click()
    expect(page.locator("#detail .turn.assistant").first).to_be_visible()

    assert page.title() == "rag on rehearsal"
    assert page.locator("img").count() == page.locator("main b").count() == 0
    assert faults == []


def test_few_users_have_no_interval_and_are_counted(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "none")
    expect(page.locator(".hero li").first).not_to_contain_text("[")
    expect(page.locator("#result")).to_contain_text("There are no intervals: fewer than 6 users")
    expect(page.locator(".hero li").last).to_contain_text("2users")


def test_the_board_compares_and_leads_to_each_run(reader: Visit, home: Path) -> None:
    [board] = (home / "boards").glob("*.html")
    page = reader.open(f"/boards/{board.name}", height=1400)
    expect(page.locator("#leaderboard table.sortable tbody tr")).to_have_count(2)  # no memory is a reference
    expect(page.locator(".hero li").first).to_contain_text("2 memoriescannot be told from the best")
    expect(page.locator("#leaderboard table").nth(1).locator("tbody tr")).to_have_count(1 + 6)
    choice(page, "Shown").select_option("not_written")
    expect(page.locator("#periods caption")).to_contain_text("not written")
    expect(page.locator("#periods .legend button")).to_have_text(["rag", "window"])
    tops = [texts[0] for texts in page.locator("#failures svg").evaluate_all(TOPS)]
    assert tops == ["1.00"] * 4
    line = page.locator("#periods svg polyline").first
    page.locator("#periods .legend button").first.click()
    expect(line).to_be_hidden()
    reader.shoot(page, "22_evaluation_board")
    page.locator("#leaderboard a").first.click()
    expect(page.get_by_role("heading", name="Every answer")).to_be_visible()


def test_each_bar_of_outcomes_adds_up_to_one(reader: Visit, home: Path) -> None:
    [board] = (home / "boards").glob("*.html")
    page = reader.open(f"/boards/{board.name}")
    shares: list[list[float]] = page.locator("#losses .bar").evaluate_all(
        "bars => bars.map((bar) => [...bar.children].map((part) => parseFloat(part.style.width)))"
    )
    assert len(shares) == 3
    for bar in shares:
        assert sum(bar) == pytest.approx(100, abs=0.01)


def test_a_table_of_hundreds_of_users_is_folded(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "window")
    begin = "userTable({periods: 1, noun: 'user', users: Array(%d).fill({id: 'a', name: 'Ada', overall: [1]})}).localName"
    assert [page.evaluate(begin % users) for users in (200, 201)] == ["div", "details"]


def test_a_column_sorts_by_keyboard(reader: Visit, home: Path) -> None:
    [board] = (home / "boards").glob("*.html")
    page = reader.open(f"/boards/{board.name}")
    page.evaluate(SORTABLE)
    sorted_table = page.locator("#leaderboard table").last
    head = sorted_table.get_by_role("button", name="score")
    head.focus()
    page.keyboard.press("Enter")
    assert sorted_table.locator("tbody th").all_inner_texts() == ["c", "b", "a"]
    page.keyboard.press("Enter")
    assert sorted_table.locator("tbody th").all_inner_texts() == ["b", "c", "a"]
    expect(sorted_table.locator("th[aria-sort=ascending]")).to_have_text("score")


def test_a_life_shows_values_and_what_the_memory_held_of_them(reader: Visit, home: Path) -> None:
    page = opened(reader, home, "window")
    life = page.locator("#life")
    expect(life.locator(".tick").first).to_be_visible()
    life.scroll_into_view_if_needed()
    reader.shoot(page, "23_evaluation_life")
    assert life.locator(".track .held.missed").count() > 0
    life.locator(".track .held").first.click()
    expect(choice(page, "Asked")).to_have_value("state")
    expect(page.locator("#detail")).to_contain_text("state")


def test_nothing_but_the_pages_themselves_was_asked_for(reader: Visit, home: Path) -> None:
    assert reader.seen
    assert all(address.startswith(home.as_uri()) for address in reader.seen)
