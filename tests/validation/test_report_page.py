"""The page of the quality report stands alone, escapes what others wrote, and has the same bytes each time."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assets.amemgym.records.report import (
    Diversity,
    QualityReport,
    RecoveryLine,
    ShortcutLine,
    SimilarQuestions,
    WorstItem,
)
from assets.records.estimate import Estimate
from assets.records.report import ColumnLine, RuleLine
from tests.support import gate_votes, scenario
from tests.support.scenario import varied
from tests.validation.random_questions import adding, random_users
from tests.validation.reports import finished_user, report_of, shortcut_lines
from validation.amemgym.report.page import render_quality_page, shortcuts_description
from validation.report.page import write_page

HOSTILE = '</style><script src="http://evil.example/x.js">alert(1)</script><img src=x onerror=alert(2)>$\\frac{1}$ & "so" 毎晩'
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Reads a page and notes tags that are not closed in order, all tags, ids and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def report(**changes: object) -> QualityReport:
    user = finished_user(scenario.episode(), votes=(gate_votes.gate_records()[1],))
    return varied(report_of(scenario.recipe(), user, failures=[gate_votes.failure()]), **changes)


def small_report(**changes: object) -> QualityReport:
    return report(**{"shortcuts": (), "movement": None, "gates": (), "diversity": None, **changes})


def hostile() -> QualityReport:
    item = WorstItem(user_id=HOSTILE, question_id=HOSTILE, query=HOSTILE, text=HOSTILE, share=0.5)
    shares = Estimate(value=0.5, low=0.4, high=0.6)
    crossed = [varied(line, worst=(item,), verdict="crossed") for line in report().shortcuts]
    pair = SimilarQuestions(first_user=HOSTILE, first=HOSTILE, second_user=HOSTILE, second=HOSTILE, likeness=1.0)
    return report(
        variant=HOSTILE,
        writer=HOSTILE,
        judges=(HOSTILE,),
        shortcuts=tuple(crossed),
        replaced={HOSTILE: 1},
        rules=(RuleLine(stage="answers", rule="x", truth=HOSTILE, blocking=True, users=1, violations=1, examples=(HOSTILE,)),),
        columns=(ColumnLine(table="users", column="name", expectation=HOSTILE, rows=1, unexpected=1, sample=(HOSTILE,)),),
        recovery=(RecoveryLine(direction="answer_from_state", items=2, recovered=shares, cannot_tell=0.0, worst=(item,)),),
        diversity=Diversity(questions=2, threshold=0.9, meaning=HOSTILE, near_within=0, near_across=1, similar=(pair,)),
    )


@pytest.fixture(scope="module")
def hostile_page() -> str:
    return render_quality_page(hostile())


def test_what_personas_and_models_wrote_stays_text(hostile_page: str) -> None:
    page = Page(hostile_page)
    assert page.open == []
    assert not page.tags & {"script", "img", "iframe", "object", "link", "form"}
    assert sum(HOSTILE in words for words in page.words) >= 12


def test_nothing_is_loaded_from_anywhere(hostile_page: str) -> None:
    page = Page(hostile_page)
    loading = [(name, value) for name, value in page.attributes if name in ("src", "href", "xlink:href", "data", "srcset")]
    assert all(value.startswith("#") for _, value in loading)
    assert re.findall(r"url\((?!#)|@import", hostile_page) == []
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_ids_are_unique() -> None:
    page = Page(render_quality_page(report()))
    assert len(page.ids) == len(set(page.ids))


def test_the_page_of_another_report_is_drawn_anew_after_that_of_one() -> None:
    assert render_quality_page(report()) == render_quality_page(report())
    assert render_quality_page(small_report(users_wanted=1)) != render_quality_page(report())


def test_a_set_that_may_be_released_says_so_first() -> None:
    clean = report(users_wanted=1, shortcuts=())
    assert '<div class="verdict release"><p><b>May be released.</b>' in render_quality_page(clean)


def test_a_shortcut_beyond_its_limit_heads_the_page_and_shows_its_worst_items() -> None:
    episodes = random_users(20, change=adding(" And so on, for a good while, come what may, and then some more of the same."))
    text = " ".join(Page(render_quality_page(small_report(shortcuts=shortcut_lines(episodes, recipe=scenario.recipe())))).words)
    assert "Not to be released" in text
    assert "Without memory, 'longest' is right" in text
    assert "longest: the questions that give the right option away most" in text
    assert "come what may, and then some more of the same." in text


def test_the_worst_question_of_a_shortcut_is_named_by_its_keys() -> None:
    user_id = f"{1:032x}"
    worst = WorstItem(user_id=user_id, question_id="q01", query="What now?", text="Rest.", share=1.0)
    (line, *_) = report().shortcuts
    crossed = varied(line, shortcut="longest", worst=(worst,), verdict="crossed")
    found = varied(report(), shortcuts=(crossed,))
    assert f'user <abbr title="{user_id}">{user_id[:8]}</abbr>' in render_quality_page(found)
    assert f"Worst: user {user_id}, q01, 'What now?'" in shortcuts_description(found)


def test_a_set_without_users_has_a_page_too() -> None:
    empty = report_of(scenario.recipe())
    assert "Only 0 users of 1 are finished." in render_quality_page(empty)


def test_the_page_replaces_the_one_before_in_one_move(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "demo.html"
    for variant in ("one", "two"):
        assert write_page(render_quality_page(small_report(variant=variant)), path) == path
    assert "Quality report: two" in path.read_text(encoding="utf-8")
    assert [one.name for one in path.parent.iterdir()] == ["demo.html"]


@pytest.mark.parametrize(
    ("value", "low", "limit", "word", "words"),
    [
        (0.20, 0.10, 0.30, "below", "below its limit"),
        (0.35, 0.25, 0.30, "allowed", "above its limit, but its interval begins below, at 25.0 %"),
        (0.35, 0.32, 0.30, "allowed", "above its limit, but chance alone reaches 40.0 %"),
        (0.35, None, 0.30, "allowed", "above its limit, but fewer than 6 users show nothing"),
    ],
)
def test_a_shortcut_above_its_limit_that_holds_has_its_reason(
    value: float, low: float | None, limit: float, word: str, words: str
) -> None:
    line = ShortcutLine(
        shortcut="longest",
        meaning="the longest",
        items=4,
        accuracy=Estimate(value=value, low=low, high=None if low is None else 0.5),
        random=0.25,
        luck=0.4,
        limit=limit,
        verdict="holds",
    )
    assert line.verdict_word == word
    assert line.verdict_words.replace("\N{NO-BREAK SPACE}", " ") == words
