"""A value that a text nearly spells is found; a text that only shares some of its words is not."""

import pytest

from assets.text.languages import FORMS
from assets.text.near_spelling import nearly_spells
from assets.text.text_checks import TextInContext, blocking_faults

NEARLY = {
    "a word between": ("the whole long evening", "whole_evening"),
    "another order": ("an evening that is whole", "whole_evening"),
    "a letter left out": ("a whol evening", "whole_evening"),
    "two letters swapped": ("a whoel evening", "whole_evening"),
    "a letter doubled": ("a whole evvening", "whole_evening"),
    "inflected": ("I work remotely", "remote_work"),
    "a lone word inflected": ("I am a gardener", "gardening"),
    "a lone word misspelled": ("I am vegetrian", "vegetarian"),
    "initials": ("I am on the V.D. now", "vegan_diet"),
    "initials without stops": ("They call it WFH", "work_from_home"),
    "small words apart": ("twice in the week", "twice_a_week"),
    "German": ("an jedem zweiten Wochenende", "jedes zweite Wochenende"),
}
OTHERWISE = {
    "one of its words": ("a long evening", "whole_evening"),
    "words far apart": ("The whole plan came to nothing that cold evening", "whole_evening"),
    "over the end of a sentence": ("It was whole. Evening came", "whole_evening"),
    "another number": ("20 minutes", "30_minutes"),
    "a short word that is another": ("I cycle", "cycling"),
    "capitals of something else": ("a TV evening", "team_videos"),
    "a script without spaces": ("次两周每去", "每周去两次"),
    "no words": ("anything", "+"),
}


@pytest.mark.parametrize(("text", "value"), NEARLY.values(), ids=NEARLY)
def test_a_value_nearly_spelled_is_found(text: str, value: str) -> None:
    assert nearly_spells(text, value, ignored=FORMS["en"].common)


@pytest.mark.parametrize(("text", "value"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_text_with_some_of_the_words_spells_nothing(text: str, value: str) -> None:
    assert not nearly_spells(text, value, ignored=FORMS["en"].common)


def test_an_answer_that_nearly_spells_its_value_goes_back_to_its_writer() -> None:
    answer = TextInContext("answer", "I have an evening that is whole, so what could I read?", "en", ("whole_evening",))
    assert blocking_faults(answer) == [
        "nearly spells the values ['whole_evening']; leave these words out, and let circumstances show what they mean."
    ]
