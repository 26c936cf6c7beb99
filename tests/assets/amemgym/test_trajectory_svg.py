"""One user's states as a picture."""

import base64
import re
import xml.etree.ElementTree as ElementTree

from assets.amemgym.trajectory_svg import ValueSpan, trajectory_markdown, value_spans
from tests.support import scenario
from tests.support.scenario import DIET, EVENINGS, GOAL


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
