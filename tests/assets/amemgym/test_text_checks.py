"""What no generated text should hold: found by its form, in a time that grows with the text's length alone."""

from datetime import date, timedelta

import pytest

from assets.text.closed_places import closed_fault, room_fault
from assets.text.kinship import role_fault
from assets.text.languages import FORMS
from assets.text.text_checks import CONTACT, PROSE, TextInContext

BY_FORM = [check for check in PROSE if check.name in ("no_placeholder", "no_markup", "no_identifier", CONTACT.name)]


def faults(text: str) -> list[str]:
    one = TextInContext("query", text, "en")
    return [fault for check in BY_FORM if (fault := check.fault(one))]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("Dear {{ first }} and {{ second }}, hello", "{{ first }}"),
        ("Dear {{{{name}} of {x}}}}, hello", "{{{{name}}"),
        ("See [the page](a/[1]/b) or [another](c)", "[the page](a/[1]/b)"),
        ("See [note [the page](a) there", "[the page](a)"),
        ("These:\n \n\n  - one\n  - two", "- o"),
        ("  1. one", "1. o"),
        ("Ask my-shop.com for it", "my-shop.com"),
    ],
)
def test_a_piece_is_named_as_it_stands_in_the_text(text: str, piece: str) -> None:
    (fault,) = faults(text)
    assert repr(piece) in fault


# Without an end of what they seem to begin. A search that tries each beginning up to the text's end takes hours for them.
@pytest.mark.parametrize("part", ["x", "a-", "1-", "[", "[a", "[a](", "{", "{{", "{{a", "\n", "\n ", "<a", "a_", "*", "`a"])
def test_a_text_of_two_hundred_thousand_letters_is_read_through(part: str) -> None:
    assert len(faults(part * (200_000 // len(part)))) <= 1


def asks(text: str) -> bool:
    request = FORMS["en"].request
    return request is not None and request.search(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "roses have black spot. what do i spray and how often",
        "egg carton says 142. is the 142 the day they got packed",
        "Which space heater is safe there",
        "roof leaks again, how do i catch the drips",
    ],
)
def test_a_question_without_its_sign_is_a_request(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text", ["Nothing new, which is fine, and when it rained I walked.", "My aunt, who is old, moved in. We do the dishes."]
)
def test_a_clause_with_a_question_word_is_no_request(text: str) -> None:
    assert not asks(text)


ROOMS = ("main room with a bed", "bathroom", "front yard")


@pytest.mark.parametrize("text", ["How do I paint the bedroom wall?", "my garage is full, what now"])
def test_a_room_that_the_home_lacks_is_found(text: str) -> None:
    assert "keep to these" in room_fault(text, ROOMS, tracked=(), language="en")


@pytest.mark.parametrize("text", ["How do I sweep my garden?", "My sister's bedroom is damp.", "The garage wants 200 for it."])
def test_rooms_of_the_home_and_of_others_are_no_fault(text: str) -> None:
    assert room_fault(text, ROOMS, tracked=(), language="en") == ""


def test_a_room_is_no_fault_where_none_is_known_or_a_variable_tracks_it() -> None:
    assert room_fault("I sleep in my attic.", (), tracked=(), language="en") == ""
    assert room_fault("I sleep in my attic.", ROOMS, tracked=("attic_under_the_roof",), language="en") == ""


@pytest.mark.parametrize(
    ("text", "of_the_day"), [("Ada signed at the town hall.", True), ("I just got back from the dental clinic.", False)]
)
def test_an_office_that_somebody_visits_on_a_sunday_is_found(text: str, of_the_day: bool) -> None:
    sunday = date(2020, 10, 4)
    assert "is closed then" in closed_fault(text, day=sunday, language="en", of_the_day=of_the_day)
    assert closed_fault(text, day=sunday + timedelta(days=1), language="en", of_the_day=of_the_day) == ""


@pytest.mark.parametrize("text", ["I go to the office on Monday.", "Today the school was closed.", "I just left the market."])
def test_what_is_open_or_on_another_day_is_no_fault_of_a_sunday(text: str) -> None:
    assert closed_fault(text, day=date(2020, 10, 4), language="en", of_the_day=True) == ""


def misnamed(text: str) -> str:
    return role_fault(text, {"mother": "Lorraine", "sister": "Ruth"}, name="Denise Hargrove", language="en")


@pytest.mark.parametrize(
    "text",
    ["My mother Grace sings.", "I asked my sister, Ada, to come.", "Grace, my mother, sings.", "Denise's sister Ada came."],
)
def test_a_person_by_another_name_is_found(text: str) -> None:
    assert "keep to the profile" in misnamed(text)


@pytest.mark.parametrize(
    "text",
    [
        "I drive my mother Mondays and Thursdays.",
        "I call my mother Monday at noon.",
        "When I sat with my mother, Patrice came by.",
        "I invited my sister, Patrice, and two friends.",
        "Lately, my mother sleeps badly.",
        "Lately, my mother, who is old, sleeps badly.",
        "In March, my sister moved.",
        "My mother Lorraine and my sister, Ruth, came.",
    ],
)
def test_a_day_or_another_person_beside_a_relation_is_no_name(text: str) -> None:
    assert misnamed(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "I'd like three names for a cat.",
        "I would love a checklist.",
        "I need a rhyme.",
        "I could use a second opinion.",
        "Make me a cheat sheet. It has to fit a page.",
    ],
)
def test_a_wish_for_an_answer_is_a_request(text: str) -> None:
    request = FORMS["en"].request
    assert request is not None
    assert request.search(text)
