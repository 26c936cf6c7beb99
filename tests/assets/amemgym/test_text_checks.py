"""What no generated text should hold: found by its form, in a time that grows with the text's length alone."""

import pytest

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
