"""A value is found in a text however its words are joined or written; nothing else is."""

import pytest

from assets.text.words import alike, is_distinctive, spells

FOLDS = {
    "case": ("At last a WHOLE Evening off", "whole_evening"),
    "hyphen": ("I sing whole-evening programmes", "whole_evening"),
    "another hyphen": ("whole\u2010evening", "whole_evening"),
    "soft hyphen": ("a whole eve\u00adning", "whole_evening"),
    "plural in the text": ("Whole evenings go by", "whole_evening"),
    "plural in the value": ("A whole evening goes by", "whole_evenings"),
    "plural in ies": ("Two allergies to nuts", "allergy_to_nuts"),
    "full width": ("ｗｈｏｌｅ　ｅｖｅｎｉｎｇ", "whole_evening"),
    "ligature": ("an ofﬁce at home", "office_at_home"),
    "Cyrillic letters": ("a whоlе еvеning", "whole_evening"),
    "Greek letters": ("a whοle evening", "whole_evening"),
    "zero for o": ("a wh0le evening", "whole_evening"),
    "spacing": ("a whole\n   evening", "whole_evening"),
    "no spacing": ("a wholeevening", "whole_evening"),
    "no spacing behind a plural": ("my twodogsathome life", "two_dogs_at_home"),
    "spacing in the text": ("I work part time", "parttime"),
    "zero-width space": ("a who\u200ble eve\u200bning", "whole_evening"),
    "possessive": ("my dog's long walks", "dogs_long_walk"),
    "Chinese": ("我每周去两次健身房。", "每周去两次"),
    "Japanese": ("毎晩走っています", "毎晩"),
    "Korean": ("매주 두 번은 가요", "매주_두_번"),
    "Russian": ("Хожу раз в неделю.", "раз_в_неделю"),
    "Arabic": ("أذهب كل يوم صباحا", "كل_يوم"),
    "Russian without the dots of ё": ("Пью зеленый чай утром", "зелёный_чай"),
    "Arabic with vowel signs": ("أَذْهَبُ كُلَّ يَوْمٍ صباحا", "كل_يوم"),
    "Hindi": ("मैं हर दिन दौड़ता हूँ।", "हर_दिन"),
    "umlauts": ("Ich trinke GRÜNEN TEE", "grunen_tee"),
    "accents": ("Une fois la journée finie", "journee_finie"),
    "Thai": ("ฉันไปทุกวันเสาร์", "ทุกวันเสาร์"),
}
NOT_SPELLED = {
    "part of a word": ("Latecomers and wholesome evenings", "late"),
    "over the end of a sentence": ("That is whole. Evening comes", "whole_evening"),
    "words between": ("the whole long evening", "whole_evening"),
    "another number": ("15 hours", "5_hours"),
    "a decimal": ("1.5 hours", "15_hours"),
    "less than, more than": ("<5 km", ">5_km"),
    "Hindi with another vowel sign": ("मुझे कम चीनी चाहिए", "काम"),
    "no words at all": ("anything", "+++"[:0]),
}


@pytest.mark.parametrize(("text", "value"), FOLDS.values(), ids=FOLDS)
def test_a_value_is_spelled_through_the_fold(text: str, value: str) -> None:
    assert spells(text, value)


@pytest.mark.parametrize(("text", "value"), NOT_SPELLED.values(), ids=NOT_SPELLED)
def test_other_words_spell_nothing(text: str, value: str) -> None:
    assert not spells(text, value)


TWINS = [
    ("part_time", "Part-Times"),
    ("parttime", "part time"),
    ("two_dogs_at_home", "twodogsathome"),
    ("ae", "а\u0435"),
    ("Ⅳ", "iv"),
    ("每周", "每 周"),
]
OTHERS = [("<5_hours", ">5_hours"), ("1.5_h", "15_h"), ("c", "c++"), ("mail", "mall"), ("day", "night"), ("+", "-")]
VALUES = [("weekly", False), ("twice_a_week", True), ("每周", False), ("每周两次", True)]


@pytest.mark.parametrize("twins", TWINS)
def test_choices_that_differ_by_folds_alone_read_the_same(twins: tuple[str, str]) -> None:
    assert list(alike(["other", *twins])) == [list(twins)]


@pytest.mark.parametrize("pair", OTHERS)
def test_choices_that_mean_something_else_do_not(pair: tuple[str, str]) -> None:
    assert not list(alike(pair))


@pytest.mark.parametrize(("value", "distinctive"), VALUES)
def test_two_words_are_distinctive(value: str, distinctive: bool) -> None:
    assert is_distinctive(value) == distinctive
