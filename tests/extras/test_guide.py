"""Every page of the guide, followed word by word in a copy of the repository."""

from pathlib import Path

import pytest

from tests.support.guide import copy_of_the_repository, follow, pages

SAID = {
    "your-own-variant": "a new minor number",
    "persona-source": "Made neighbours",
    "prompt-language": "Write in Swedish.",
    "check": "For trying only",
    "expectations": "has at most 2000 characters",
    "stage": "mottos of demo: 1 of 1 user",
    "document-benchmark": "A       bm25              1.000",
    "benchmark": "coins_tossed of coins: 3 of 3 coins",
    "memory": "demo-0.1.0-RareWords",
    "tool-dialogues": "A       bm25            .333 [.060, .796]",
    "facts": "A       bm25            .574 [.502, .643]",
}


def test_every_page_is_followed() -> None:
    assert set(SAID) == set(pages())


@pytest.mark.parametrize("page", SAID)
def test_a_page_runs_as_it_is_written(page: str, tmp_path: Path) -> None:
    assert SAID[page] in follow(pages()[page], place=copy_of_the_repository(tmp_path / "copy"), home=tmp_path / "data")
