"""What the users of a stage come to, and one user's states as a picture."""

import base64
import re
import xml.etree.ElementTree as ElementTree

from assets.amemgym.audits.stage import summarize_audits
from assets.amemgym.episodes import summarize_episodes
from assets.amemgym.personas.stage import summarize_personas
from assets.amemgym.records.state import PeriodSessions, SessionSet
from assets.amemgym.session_queries.stage import summarize_sessions
from assets.amemgym.state_trajectory.stage import summarize_trajectories
from assets.amemgym.trajectory_svg import ValueSpan, trajectory_markdown, value_spans
from assets.reporting.histogram import histogram
from tests.support import scenario
from tests.support.scenario import DIET, EVENINGS, GOAL


def test_a_histogram_shows_ends_shape_and_mean() -> None:
    assert histogram([1, 1, 1, 1, 3], unit="words") == "1 █\N{FIGURE SPACE}▂ 3 words, mean 1.4"
    assert histogram(range(1000), unit="words").count("█") == 12
    assert histogram([], unit="words") == "none"


def test_sessions_are_counted_with_the_values_that_they_tell() -> None:
    periods = tuple(PeriodSessions(index=index, sessions=own) for index, own in enumerate(scenario.sessions()))
    told = summarize_sessions([SessionSet(user_id="u", periods=periods, gate_records=())])
    assert (told["sessions"], told["values_per_session"]) == (4, 1.5)


def test_the_motion_of_states_and_the_balance_of_values_are_told() -> None:
    moving = summarize_trajectories([scenario.trajectory()])
    whole = summarize_episodes([scenario.episode()])
    assert moving["updates"] == 3
    assert moving["updates_per_period"] == 1.5
    assert moving["unmoved_variables"] == 0
    assert moving["returns"] == 0
    assert (whole["sessions"], whole["questions"], whole["golden_changes"]) == (4, 2, 0.75)
    balance = str(getattr(whole["value_balance"], "md_str", ""))
    assert "| 1 | 100% | 0% |" in balance


def test_nobody_is_nothing_and_no_error() -> None:
    for summarize in (
        summarize_personas,
        summarize_trajectories,
        summarize_episodes,
        summarize_audits,
    ):
        assert summarize([]) is not None


def drawn() -> ElementTree.Element:
    encoded = re.search(r"base64,([^)]+)\)$", trajectory_markdown(scenario.trajectory()))
    assert encoded is not None
    return ElementTree.fromstring(base64.b64decode(encoded[1]))


def test_the_svg_of_a_trajectory_names_variables_and_values_and_marks_every_change() -> None:
    picture = drawn()
    texts = [text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    marks = [mark for mark in picture.iter("{http://www.w3.org/2000/svg}rect") if mark.get("fill") == "#b00020"]
    assert {DIET, GOAL, EVENINGS, "vegetarian", "Tue | Thu"} <= set(texts)
    assert len(marks) == 3
    assert trajectory_markdown(scenario.trajectory()) == trajectory_markdown(scenario.trajectory())


def test_a_value_that_comes_back_has_its_shade_again() -> None:
    assert list(value_spans(["a", "a", "b", "a"])) == [
        ValueSpan(0, 1, "a", 0),
        ValueSpan(2, 2, "b", 1),
        ValueSpan(3, 3, "a", 0),
    ]
