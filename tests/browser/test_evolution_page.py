"""What a reader does on the page of an evolution, done by a real browser on the file itself."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipelines.evaluation.folder import PAGE
from tests.browser.pages import Visit, visit
from tests.experiments.evolution.scripted_evolution import evolution_of, evolved, learner

pytestmark = pytest.mark.browser
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><b>Noted</b>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A usual evolution, and one whose assistant and whose improver write markup."""
    hostile = {"chat": HOSTILE, "evaluation/improve_policy": {"new_types": f"- {HOSTILE}", "changes": [HOSTILE]}}
    place = tmp_path_factory.mktemp("evolutions")
    for name, script in {"usual": {}, "hostile": hostile}.items():
        evolved(evolution_of(place / name, learner(script)))
    return place


@pytest.fixture(scope="module")
def reader(folder: Path, browser: Browser, shots: Path | None) -> Generator[Visit]:
    with visit(browser, folder.as_uri(), shots=shots) as here:
        yield here


def opened(reader: Visit, folder: Path, kind: str) -> tuple[Page, list[str]]:
    """The page, and the errors that it throws."""
    [place] = (folder / kind).glob("rehearsal-*")
    page, errors = reader.open(f"/{kind}/{place.name}/{PAGE}", height=1400), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.reload()
    expect(page.locator("#policies .diff").first).to_be_visible()
    return page, errors


def test_curves_and_histories_can_be_chosen(reader: Visit, folder: Path) -> None:
    page, errors = opened(reader, folder, "usual")
    charts = page.locator("#curve svg[role=img]")
    split = page.get_by_role("combobox", name="Scored on")
    options = split.locator("option").all_inner_texts()
    for option in options:
        split.select_option(label=option)
        expect(charts).to_have_count(5)
    learner_of = page.get_by_role("combobox", name="Whose policy")
    for option in learner_of.locator("option").all_inner_texts():
        learner_of.select_option(label=option)
        expect(page.locator("#policies .diff")).to_have_count(2)
    learner_of.select_option(label="complete-held-out: all users")
    page.get_by_text("Feedback that it was made from").first.click()
    reader.shoot(page, "27_evolution")

    assert options == ["paper's protocol", *(f"held-out protocol: {name}" for name in ("seen", "new questions", "new users"))]
    expect(page.locator("#policies .diff .new").first).to_be_visible()
    expect(page.get_by_text("Let be known:").first).to_be_visible()
    assert errors == []


def test_no_text_is_taken_for_markup_and_nothing_is_asked_of_the_network(reader: Visit, folder: Path) -> None:
    page, errors = opened(reader, folder, "hostile")
    page.get_by_text("replies, word for word").first.click()

    assert page.title().startswith("Self-evolution of awi")
    expect(page.locator("#policies").get_by_text("The old section stays.").first).to_be_visible()
    assert page.locator("main img, main b").count() == 0
    assert errors == []
    assert reader.seen
    assert all(address.startswith(folder.as_uri()) for address in reader.seen)
