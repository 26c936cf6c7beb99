"""Contact data is found by its form; numbers and words of everyday prose are none."""

import pytest

from assets.text.contact_data import contact_data

FOUND = {
    "mail": "ann.lee+x@mail.example",
    "page": "https://a.example/b?c=1",
    "site": "www.a.example",
    "domain": "myshop.com",
    "account": "@ann_lee",
    "phone": "212-555-0199",
    "phone in brackets": "(212) 555-0199",
    "phone of a country": "+49 30 1234567",
    "mobile in China": "13912345678",
    "card": "4111 1111 1111 1111",
    "bank account": "DE89 3704 0044 0532 0130 00",
    "social security": "078-05-1120",
    "computer": "192.168.10.1",
}
PROSE = (
    "In 2020-2021 I ran 1,200 km in 3 x 10 days, at 5.30 in the morning.",
    "From 8:00 to 17:30, 2 or 3 times, about 20-30 minutes; it cost 1500 dollars.",
    "On 2020-10-01 I turned 41. Is 10,000 steps a day enough?",
)


@pytest.mark.parametrize("piece", FOUND.values(), ids=FOUND)
def test_contact_data_is_found_within_a_sentence(piece: str) -> None:
    assert contact_data(f"Reach me at {piece} please") == [piece]


@pytest.mark.parametrize("text", PROSE)
def test_everyday_numbers_are_no_contact_data(text: str) -> None:
    assert contact_data(text) == []
