"""What annotators do on their page, done by a real browser: from the server, and from a file alone."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Route, expect

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.question import AnswerChoice
from pipelines.experiments.annotation.folder import StudyFolder, import_answers
from pipelines.experiments.annotation.page import annotation_page, study_app
from pipelines.experiments.annotation.results import collect_answers, result_of
from pipelines.experiments.annotation.study import Target
from pipelines.ui.request_guard import RequestGuard
from tests.browser.pages import Visit, visit
from tests.experiments.annotation.making import begin_study, source
from tests.support.scenario import episode, varied

pytestmark = pytest.mark.browser
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><b>Noted</b><svg onload=\"document.title='broken'\">"
ITEMS = 20


def hostile(user_id: str) -> Episode:
    """The scenario's user, with markup in every text that annotators are shown."""
    whole = episode(user_id)

    def spoiled(choice: AnswerChoice) -> AnswerChoice:
        return varied(choice, answer=f"{HOSTILE} {choice.answer}")

    questions = tuple(
        varied(one, query=f"{HOSTILE} {one.query}", answer_choices=tuple(map(spoiled, one.answer_choices)))
        for one in whole.questions
    )
    return varied(whole, questions=questions)


@contextmanager
def served(folder: StudyFolder) -> Generator[str, None, None]:
    """The study's server on a free port of loopback."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # a visitor who comes before the server waits
        server = uvicorn.Server(uvicorn.Config(RequestGuard(study_app(folder), host="127.0.0.1"), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    """Twenty questions of four users."""
    users = source(*(hostile(f"user-{number}") for number in range(4)))
    return begin_study(tmp_path, source=users, target=Target(size=ITEMS, controls=0.0))


def opened(reader: Visit, path: str) -> tuple[Page, list[str]]:
    """The page, and whatever goes wrong on it."""
    page, faults = reader.context.new_page(), list[str]()
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_viewport_size({"width": 1100, "height": 1000})
    page.goto(f"{reader.url}{path}")
    expect(page.locator(".labels button").first).to_be_visible()
    return page, faults


def answer(page: Page, times: int) -> None:
    """So many items by their first label, with a key."""
    for _ in range(times):
        page.keyboard.press("1")


def counted(page: Page, number: int) -> None:
    expect(page.locator("#count")).to_have_text(f"{number} of {ITEMS} answered")


def test_two_annotators_answer_twenty_items_by_keyboard_and_a_reload_loses_nothing(
    study: StudyFolder, browser: Browser, shots: Path
) -> None:
    with served(study) as url, visit(browser, url, shots=shots) as reader:
        page, faults = opened(reader, "/anna/")
        reader.shoot(page, "30_annotation_first")
        answer(page, 9)
        page.keyboard.press("n")
        page.keyboard.type("two of these look alike 1 2 3")
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        counted(page, 10)
        page.reload()
        counted(page, 10)
        expect(page.locator("h2").first).to_have_text(f"Item 11 of {ITEMS}")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#note")).to_have_value("two of these look alike 1 2 3")
        expect(page.locator("[aria-checked=true]")).to_have_attribute("data-value", "none")
        reader.shoot(page, "31_annotation_answered")
        page.keyboard.press("u")
        answer(page, 10)
        expect(page.locator("#done")).to_be_visible()
        expect(page.get_by_role("status")).to_have_text("Saved")
        reader.shoot(page, "32_annotation_done")
        with page.expect_download() as download:
            page.keyboard.press("e")
        exported = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
        other, others_faults = opened(reader, "/ben/")
        answer(other, ITEMS)
        expect(other.get_by_role("status")).to_have_text("Saved")

    sheets = {sheet.annotator: sheet for sheet in study.sheets()}
    result = result_of(collect_answers(study.study(), study.keys(), list(sheets.values())))
    assert {len(sheet.answers) for sheet in sheets.values()} == {ITEMS}
    assert exported["answers"] == {item: one.model_dump() for item, one in sheets["anna"].answers.items()}
    assert (result.items, result.users, len(result.annotators)) == (ITEMS, 4, 2)
    assert result.ac1.value is not None
    assert [task.item for task in study.study().tasks] != list(sheets["anna"].answers) != list(sheets["ben"].answers)
    assert faults == others_faults == []
    assert reader.seen == {"127.0.0.1"}


def test_hostile_texts_are_text_and_run_nothing(study: StudyFolder, browser: Browser, shots: Path | None) -> None:
    with served(study) as url, visit(browser, url, shots=shots) as reader:
        page, faults = opened(reader, "/anna/")
        page.keyboard.press("n")
        page.keyboard.insert_text(HOSTILE)
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        counted(page, 1)
        page.reload()
        expect(page.locator(".turn .text").first).to_contain_text("onerror")

        assert page.title() == "Which answer serves this user best?"
        assert page.locator("main img, main b, main svg").count() == 0
        assert faults == []


def test_a_page_from_the_disk_keeps_answers_and_its_export_is_taken_in(
    study: StudyFolder, browser: Browser, shots: Path | None, tmp_path: Path
) -> None:
    file = tmp_path / "anna.html"
    file.write_text(annotation_page(study.study(), study.sheet("anna")), encoding="utf-8")
    with visit(browser, tmp_path.as_uri(), shots=shots) as reader:
        page, faults = opened(reader, "/anna.html")
        answer(page, 7)
        expect(page.get_by_role("status")).to_have_text("Saved in this browser")
        # Chromium hands what a page keeps to another process, a moment later.
        page.wait_for_timeout(1000)
        page.reload()
        counted(page, 7)
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        content = Path(download.value.path()).read_bytes()

    import_answers(study, content)
    assert len(study.sheet("anna").answers) == 7
    assert faults == []
    assert all(address.startswith(tmp_path.as_uri()) for address in reader.seen)


def test_saved_is_said_when_the_last_answer_is_with_the_server(
    study: StudyFolder, browser: Browser, shots: Path | None
) -> None:
    with served(study) as url, visit(browser, url, shots=shots) as reader:
        page, _ = opened(reader, "/anna/")
        held: list[Route] = []
        page.route("**/answers", lambda route: held.append(route))
        with page.expect_request("**/answers"):
            answer(page, 1)
        answer(page, 1)
        with page.expect_request("**/answers"):
            held[0].continue_()
        assert page.get_by_role("status").inner_text() != "Saved"
        held[1].continue_()
        expect(page.get_by_role("status")).to_have_text("Saved")

        assert len(study.sheet("anna").answers) == 2


def test_answers_given_while_the_server_is_away_reach_it_later(
    study: StudyFolder, browser: Browser, shots: Path | None
) -> None:
    with served(study) as url, visit(browser, url, shots=shots) as reader:
        page, _ = opened(reader, "/anna/")
        reader.context.set_offline(True)
        answer(page, 3)
        expect(page.get_by_role("status")).to_contain_text("Kept in this browser")
        assert study.sheet("anna").answers == {}
        reader.context.set_offline(False)
        answer(page, 1)
        expect(page.get_by_role("status")).to_have_text("Saved")

        assert len(study.sheet("anna").answers) == 4
