"""Which number of a version has to grow, and what is refused."""

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.records.episode import Episode
from dataset_card.diff.render import SECTION
from dataset_card.release.manifest import ReleaseError
from dataset_card.release.versions import LEVELS, Level, numbers, smallest_after
from dataset_card.release_store.folder import ReleaseConflict, write_release
from tests.support import scenario
from tests.support.releases import all_bytes, content, report

SECOND = "5f0c-ada-003"
TWO = (scenario.episode(), scenario.episode(SECOND))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with the first release of the content, to be copied."""
    root = tmp_path_factory.mktemp("first")
    assert auto(root) == "0.1.0"
    return root


def auto(root: Path, **changes: Any) -> str:
    return write_release(content(**changes), root=root).version


def reworded(episode: Episode) -> Episode:
    first, *others = episode.questions
    return scenario.varied(episode, questions=(scenario.varied(first, query="And before a run?"), *others))


def resaid(episode: Episode, **changes: Any) -> Episode:
    """The session of the first period told otherwise."""
    first, second, *periods = episode.periods
    session = scenario.varied(second.sessions[0], **changes)
    return scenario.varied(episode, periods=(first, scenario.varied(second, sessions=(session,)), *periods))


def summed_up(episode: Episode) -> Episode:
    first, second, *periods = episode.periods
    return scenario.varied(episode, periods=(first, scenario.varied(second, period_summary="A talk."), *periods))


def reanswered(episode: Episode, answers: tuple[str, ...]) -> Episode:
    """The first options of the first question with these answers."""
    first, *others = episode.questions
    count = len(answers)
    changed = [scenario.varied(one, answer=text) for one, text in zip(first.answer_choices[:count], answers, strict=True)]
    question = scenario.varied(first, answer_choices=(*changed, *first.answer_choices[count:]))
    return scenario.varied(episode, questions=(question, *others))


def swapped(episode: Episode) -> Episode:
    one, other, *_ = (choice.answer for choice in episode.questions[0].answer_choices)
    return reanswered(episode, (other, one))


def renamed(episode: Episode) -> Episode:
    profile = scenario.varied(episode.user_profile, complementary_info="She sails.")
    return scenario.varied(episode, user_profile=profile)


def redrafted(episode: Episode) -> Episode:
    """A question of the schema in other words, which stands in no flat table."""
    first, *others = episode.state_schema.questions
    schema = scenario.varied(episode.state_schema, questions=(scenario.varied(first, text="And before a run?"), *others))
    return scenario.varied(episode, state_schema=schema)


def relabelled(episode: Episode) -> Episode:
    """One option of another type; nothing else."""
    first, *others = episode.questions
    choices = tuple(scenario.varied(one, type="experience") for one in first.answer_choices)
    return scenario.varied(episode, questions=(scenario.varied(first, answer_choices=choices), *others))


def without_last_question(episode: Episode) -> Episode:
    return scenario.varied(episode, questions=episode.questions[:-1])


def without_unlived_options(episode: Episode) -> Episode:
    first, *others = episode.questions
    choices = tuple(one for one in first.answer_choices if one.type == "experience")
    return scenario.varied(episode, questions=(scenario.varied(first, answer_choices=choices), *others))


CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("the same", {}, {}, "0.1.0"),
    ("a user gone", {}, {"items": TWO[:1]}, "1.0.0"),
    ("a user more", {"items": TWO[:1]}, {}, "0.2.0"),
    ("a label changed", {}, {"items": (relabelled(TWO[0]), TWO[1])}, "1.0.0"),
    ("a question gone", {}, {"items": (without_last_question(TWO[0]), TWO[1])}, "1.0.0"),
    ("a question more", {"items": (without_last_question(TWO[0]), TWO[1])}, {}, "0.2.0"),
    ("an option more", {"items": (without_unlived_options(TWO[0]), TWO[1])}, {}, "1.0.0"),
    ("a question in other words", {}, {"items": (reworded(TWO[0]), TWO[1])}, "1.0.0"),
    ("a session query in other words", {}, {"items": (resaid(TWO[0], query="No more meat."), TWO[1])}, "1.0.0"),
    ("an answer in other words", {}, {"items": (reanswered(TWO[0], ("Eat.",)), TWO[1])}, "1.0.0"),
    ("two answers swapped, so that the key names the other", {}, {"items": (swapped(TWO[0]), TWO[1])}, "1.0.0"),
    ("a session at another time", {}, {"items": (resaid(TWO[0], session_time=datetime(2020, 11, 4)), TWO[1])}, "1.0.0"),
    ("a profile in other words", {}, {"items": (renamed(TWO[0]), TWO[1])}, "1.0.0"),
    ("what only the nested rows show", {}, {"items": (redrafted(TWO[0]), TWO[1])}, "1.0.0"),
    ("another event behind a session", {}, {"items": (resaid(TWO[0], event="A talk."), TWO[1])}, "0.1.1"),
    ("another summary of a period", {}, {"items": (summed_up(TWO[0]), TWO[1])}, "0.1.1"),
    ("other votes of the gates", {}, {"gate_records": []}, "0.1.1"),
    ("a quality report", {}, {"report": report()}, "0.1.1"),
    ("rows in another order", {}, {"items": TWO[::-1]}, "0.1.1"),
    ("no failures told", {}, {"failures": []}, "0.1.1"),
    ("another program", {}, {"generator": "amemgym-synth 9.9.9"}, "0.1.1"),
    ("another prompt", {}, {"prompts": {"questions/draft": "c" * 12}}, "0.1.1"),
]


@pytest.mark.parametrize(("before", "after", "version"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_next_version_follows_from_what_changed(
    tmp_path: Path, first: Path, before: dict[str, Any], after: dict[str, Any], version: str
) -> None:
    if before:
        auto(tmp_path, **before)
    else:
        shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    assert auto(tmp_path, **after) == version


@pytest.mark.parametrize(
    ("before", "after", "smallest"),
    [({}, {"report": report()}, "0.1.1"), ({"items": TWO[:1]}, {}, "0.2.0"), ({}, {"items": TWO[:1]}, "1.0.0")],
    ids=["patch", "minor", "major"],
)
def test_a_version_below_the_smallest_is_refused_and_nothing_is_left_of_it(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], smallest: str
) -> None:
    auto(tmp_path, **before)
    with pytest.raises(
        ReleaseError, match=rf"^0\.0\.9 is too low for demo: since 0\.1\.0, .*, so it has to be at least {smallest}\.$"
    ):
        write_release(content(**after), root=tmp_path, version="0.0.9")
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["0.1.0"]


@pytest.mark.parametrize("changes", [{"items": TWO[:1]}, {"report": report()}], ids=["rows", "a report"])
def test_a_higher_version_than_the_smallest_is_taken_and_found_again(
    first: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    assert write_release(content(**changes), root=tmp_path, version="3.0.0").version == "3.0.0"
    assert auto(tmp_path, **changes) == "3.0.0"


def test_with_a_damaged_release_nothing_is_compared_and_it_is_told_what_to_do(first: Path, tmp_path: Path) -> None:
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    os.truncate(tmp_path / "demo" / "0.1.0" / "tables" / "demo" / "questions.parquet", 9)
    with pytest.raises(ReleaseConflict, match=r"^Version 0\.1\.0 is damaged, .* 9 bytes, .* or move .*/demo/0\.1\.0 away"):
        auto(tmp_path, items=TWO[:1])


def test_a_refusal_names_the_first_row_and_the_smallest_version(tmp_path: Path) -> None:
    auto(tmp_path)
    with pytest.raises(ReleaseError) as refusal:
        write_release(content(items=(relabelled(TWO[0]), TWO[1])), root=tmp_path, version="0.2.0")
    assert str(refusal.value) == (
        "0.2.0 is too low for demo: since 0.1.0, 1 row of answer_choices is changed in what an assistant reads or is scored on "
        "(type of user_id 5f0c-zoë-001, question_id q01, choice_id q01-c2), so it has to be at least 1.0.0."
    )


def test_the_same_content_keeps_its_version_and_cannot_take_an_older_one(tmp_path: Path) -> None:
    write_release(content(), root=tmp_path, version="1.0.0")
    with pytest.raises(ReleaseError, match=r"Nothing changed since demo 1\.0\.0, so 0\.9\.0 would be older"):
        write_release(content(), root=tmp_path, version="0.9.0")


def test_a_release_that_tells_changes_is_found_again(tmp_path: Path) -> None:
    """The card of the second tells what changed since the first; making it again has to come to the same release."""
    first, second = content(), content(items=(reworded(TWO[0]), TWO[1]))
    write_release(first, root=tmp_path)
    made = write_release(second, root=tmp_path)
    again = write_release(second, root=tmp_path)
    named = write_release(second, root=tmp_path, version="1.0.0")
    assert [(one.version, one.created, one.digest) for one in (made, again, named)] == [
        ("1.0.0", True, made.digest),
        ("1.0.0", False, made.digest),
        ("1.0.0", False, made.digest),
    ]
    with pytest.raises(ReleaseConflict, match="1 row of questions is changed in what"):
        write_release(first, root=tmp_path, version="1.0.0")


def test_the_same_two_releases_have_the_same_bytes_anywhere(tmp_path: Path) -> None:
    for root in (tmp_path / "here", tmp_path / "there"):
        write_release(content(), root=root)
        write_release(content(items=(reworded(TWO[0]), TWO[1])), root=root)
    assert all_bytes(tmp_path / "here") == all_bytes(tmp_path / "there")


def test_the_data_digest_knows_rows_alone_and_the_digest_every_byte(tmp_path: Path) -> None:
    first = write_release(content(), root=tmp_path)
    card_only = write_release(content(generator="amemgym-synth 9.9.9"), root=tmp_path)
    rows = write_release(content(items=TWO[:1]), root=tmp_path)
    digests = [one.manifest.data_digest for one in (first, card_only, rows)]
    assert (digests[0] == digests[1], digests[1] == digests[2]) == (True, False)
    assert len({one.digest for one in (first, card_only, rows)}) == 3


def test_the_card_tells_what_changed_since_the_version_before_and_the_first_tells_nothing(tmp_path: Path) -> None:
    first = write_release(content(), root=tmp_path)
    # The card tells the first user's story, so that the other one is changed.
    second = write_release(content(items=(TWO[0], reworded(TWO[1]))), root=tmp_path)
    cards = [(one.folder / "README.md").read_text(encoding="utf-8") for one in (first, second)]
    assert not SECTION.search(cards[0])
    (section,) = SECTION.findall(cards[1])
    assert section.startswith("## Changes since 0.1.0\n")
    assert "Scores do not compare with those on 0.1.0." in section
    assert "| `questions` | 4 | 4 | 1 |" in section
    assert SECTION.sub("", cards[1]) == cards[0]
    assert second.manifest.previous is not None
    previous = second.manifest.previous
    assert (previous.version, previous.data_digest) == ("0.1.0", first.manifest.data_digest)
    assert previous.because is not None
    assert previous.because.startswith("major: 1 row of questions is changed in what an assistant reads or is scored on")


VERSIONS = st.tuples(*[st.integers(min_value=0, max_value=99)] * 3).map(lambda three: ".".join(map(str, three)))


@given(VERSIONS, st.sampled_from(LEVELS))
def test_the_smallest_next_version_is_higher_and_more_so_for_more(last: str, level: Level) -> None:
    following = [smallest_after(last, level=one) for one in LEVELS]
    assert numbers(last) < numbers(smallest_after(last, level=level))
    assert sorted(following, key=numbers) == following
