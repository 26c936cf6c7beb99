"""What two releases differ in, as a record, as Markdown and as a page."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from assets.amemgym.records.episode import Episode
from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.page import diff_page
from dataset_card.diff.records import DiffError, ReleaseDiff, TableChange
from dataset_card.diff.render import changes_section, marked_words, with_changes, without_changes
from dataset_card.diff.terminal import print_diff
from dataset_card.release_store.folder import write_release
from tests.support import scenario
from tests.support.releases import content

SECOND, THIRD = "5f0c-ada-003", "5f0c-eve-004"
BOTH = (scenario.episode(), scenario.episode(SECOND))


def diff(tmp_path: Path, before: dict[str, Any], after: dict[str, Any], **options: Any) -> ReleaseDiff:
    """Written below different roots, so that nothing but the files can tell them apart."""
    sides = [
        read_compared(write_release(content(**changes), root=tmp_path / name, version=version).folder)
        for name, version, changes in (("a", "0.1.0", before), ("b", "1.0.0", after))
    ]
    return compare_releases(sides[0], sides[1], form=AMEMGYM_RELEASE, **options)


def table(found: ReleaseDiff, name: str) -> TableChange:
    return next(one for one in found.tables if one.table == name)


def retold() -> Episode:
    """Zoë, with another query, another event and other words in one answer."""
    episode = scenario.episode()
    first, *periods = episode.periods
    session = scenario.varied(periods[0].sessions[0], query="No more <meat>, and twice the distance?", event="A talk.")
    question, *others = episode.questions
    choice, *choices = question.answer_choices
    question = scenario.varied(question, answer_choices=(scenario.varied(choice, answer=f"{choice.answer} Always."), *choices))
    changed = scenario.varied(periods[0], sessions=(session,))
    return scenario.varied(episode, periods=(first, changed, *periods[1:]), questions=(question, *others))


def test_users_who_came_and_went_are_named_with_their_rows(tmp_path: Path) -> None:
    zoë, ada, eve = scenario.episode(), scenario.episode(SECOND), scenario.episode(THIRD)
    found = diff(tmp_path, {"items": [zoë, ada]}, {"items": [zoë, eve]})
    assert (found.users_added, found.users_removed, found.level) == ((THIRD,), (SECOND,), "major")
    sessions = table(found, "sessions")
    assert sessions.before == 8
    assert sessions.after == 8
    assert sessions.added == 4
    assert sessions.removed == 4
    page = diff_page(found)
    assert "<summary>1 user new</summary>" in page
    assert "<summary>1 user gone</summary>" in page
    assert not sessions.examples


def test_texts_that_an_assistant_reads_are_labels_and_notes_are_not(tmp_path: Path) -> None:
    found = diff(tmp_path, {}, {"items": [retold(), scenario.episode(SECOND)]})
    assert found.level == "major"
    assert {one.table: one.relabelled for one in found.tables if one.changed} == {"sessions": 1, "answer_choices": 1}
    (row,) = table(found, "sessions").examples
    assert row.key == {"user_id": scenario.USER_ID, "period": 1, "session": 0}
    assert [(cell.column, cell.kind) for cell in row.cells] == [("query", "label"), ("event", "note")]
    assert row.cells[0].after == "No more <meat>, and twice the distance?"


def test_a_key_that_moved_is_a_label(tmp_path: Path) -> None:
    """The golden option of a question, when two options change their ids."""
    episode = scenario.episode()
    first, second = episode.questions
    ids = {"q02-c1": "q02-c2", "q02-c2": "q02-c1", "q02-c3": "q02-c3"}
    choices = tuple(scenario.varied(one, choice_id=ids[one.choice_id]) for one in second.answer_choices)
    swapped = scenario.varied(second, answer_choices=choices, golden=tuple(ids[one] for one in second.golden))
    found = diff(tmp_path, {}, {"items": [scenario.varied(episode, questions=(first, swapped)), scenario.episode(SECOND)]})
    (row,) = table(found, "questions").examples
    (cell,) = row.cells
    assert (cell.column, cell.kind) == ("golden", "label")
    assert (json.loads(cell.before), json.loads(cell.after)) == (list(second.golden), list(swapped.golden))
    assert found.level == "major"


def test_settings_that_changed_are_listed_and_others_not(tmp_path: Path) -> None:
    longer = {"items": [retold(), scenario.episode(SECOND)], "recipe": scenario.recipe(num_users=2, seed=7)}
    found = diff(tmp_path, {}, longer)
    assert [(one.name, one.before, one.after) for one in found.settings] == [("seed", "42", "7")]


def test_nothing_changed_is_told_as_such(tmp_path: Path) -> None:
    found = diff(tmp_path, {}, {})
    assert found.level == "same"
    assert found.reasons == ()
    assert found.settings == ()
    assert "they are the same release" in diff_page(found)


def test_forward_and_backward_tell_the_same_rows(tmp_path: Path) -> None:
    sides = [
        read_compared(write_release(content(**changes), root=tmp_path / str(number)).folder)
        for number, changes in enumerate([{}, {"items": [retold()]}])
    ]
    there, back = (compare_releases(*pair, form=AMEMGYM_RELEASE) for pair in (sides, sides[::-1]))
    assert [(one.added, one.removed, one.relabelled) for one in there.tables] == [
        (one.removed, one.added, one.relabelled) for one in back.tables
    ]
    assert compare_releases(sides[0], sides[1], form=AMEMGYM_RELEASE) == there


def test_releases_of_two_variants_are_not_compared(tmp_path: Path) -> None:
    with pytest.raises(DiffError, match="'demo' and one of 'extra'"):
        diff(tmp_path, {}, {"recipe": scenario.recipe(variant="extra", num_users=2)})


def test_examples_are_bounded_and_counts_are_not(tmp_path: Path) -> None:
    names = [scenario.varied(one, user_profile=scenario.profile(user_id=one.user_id, name="Zoë")) for one in BOTH]
    users = table(diff(tmp_path, {}, {"items": names}, examples=1), "users")
    assert (users.relabelled, len(users.examples)) == (2, 1)


def test_the_section_has_no_empty_table_and_is_undone(tmp_path: Path) -> None:
    found = diff(tmp_path, {}, {"items": [retold(), scenario.episode(SECOND)]})
    section = changes_section(found)
    assert section.startswith(
        "## Changes since 0.1.0\n\nScores do not compare with those on 0.1.0.\nThis needs a new major number: "
        "1 row of sessions is changed in what an assistant reads or is scored on (query of user\\_id 5f0c-zoë-001"
    )
    for card in ("---\na: b\n---\n\n# T\n\n## What\n\nx\n\n## Loading it\n\ny\n", "# T\n", "# T\n\n## License and citation\n"):
        assert without_changes(with_changes(card, section)) == card
        assert without_changes(card) == card


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(tmp_path: Path) -> None:
    page = diff_page(diff(tmp_path, {}, {"items": [retold(), scenario.episode(SECOND)]}))
    assert "What changed from demo 0.1.0 to demo 1.0.0" in page
    assert "&lt;meat&gt;," in page
    assert "<meat>" not in page
    assert "<ins>Always.</ins>" in page
    assert not re.search(r"<script|<link|src=|https?://", page)


def test_the_page_shows_changed_texts_before_tables_and_bookkeeping_last(tmp_path: Path) -> None:
    page = diff_page(diff(tmp_path, {}, {"items": [retold(), scenario.episode(SECOND)], "gate_records": []}))
    places = [page.index(part) for part in ('id="answer_choices"', 'id="sessions"', 'id="rows"', ">gate_records<")]
    assert places == sorted(places)


def test_the_terminal_marks_words_first_and_bookkeeping_last(tmp_path: Path) -> None:
    found = diff(tmp_path, {}, {"items": [retold(), scenario.episode(SECOND)], "gate_records": []})
    console = Console(width=200, record=True, file=StringIO())
    print_diff(found, console)
    told = console.export_text()
    assert told.startswith("From demo 0.1.0 to demo 1.0.0: a new major number, because 1 row of sessions is changed in what")
    assert "[-My doctor said" in told
    assert "{+Always.+}" in told
    assert "gate_records:" not in told
    places = [told.index(part) for part in ("answer_choices: user", "sessions: user", "\nsessions ", "\ngate_records ")]
    assert places == sorted(places)


WORDS = st.lists(st.sampled_from(["a", "b", "", "long", "§"]), max_size=8).map(" ".join)


@given(WORDS, WORDS)
def test_marked_words_hold_both_texts(before: str, after: str) -> None:
    marks = marked_words(before, after)
    assert " ".join(text for mark, text in marks if mark != "new") == before
    assert " ".join(text for mark, text in marks if mark != "gone") == after
