"""No text tells of as happened what lies after its day, in any language that texts may be in."""

from datetime import date

import pytest

from assets.recipe.policies import GatePolicy
from assets.text.calendar_faults import HOLIDAYS, calendar_fault
from assets.text.calendar_words import CALENDAR_WORDS
from assets.text.languages import LANGUAGES
from assets.text.text_checks import TextInContext, blocking_faults
from tests.bench.planted_defects.calendar_and_cast import ALARMS
from tests.bench.planted_defects.trial import Settings, Trial
from tests.support.coroutines import run

AHEAD = [
    ("en", date(2021, 1, 5), "When I was gone three nights in March she made the round of my jam jars."),
    ("en", date(2021, 1, 28), "A friend of mine broke her hip in February, so afternoons I fetch her old hound."),
    ("en", date(2021, 4, 28), "By May the strap no longer kept the swelling down."),
    ("en", date(2021, 5, 21), "Over Memorial Day the firebox of my old pit rusted through. What now?"),
    ("en", date(2020, 12, 6), "My sister moved in on December 9."),
    ("en", date(2021, 3, 2), "My neighbor sold the boat this summer."),
    ("en", date(2021, 2, 20), "In spring, we moved the bed downstairs."),
    ("de", date(2021, 1, 5), "Im März hat sich meine Freundin die Hüfte gebrochen."),
    ("es", date(2021, 1, 5), "En marzo se rompió la cadera mi amiga."),
    ("fr", date(2021, 1, 5), "En mars, mon amie était à l'hôpital."),
    ("it", date(2021, 1, 5), "A marzo la mia amica era in ospedale."),
    ("pt", date(2021, 1, 5), "Em março minha amiga quebrou o quadril."),
    ("nl", date(2021, 1, 5), "In maart heeft mijn vriendin haar heup gebroken."),
    ("ru", date(2021, 1, 5), "В марте моя подруга сломала ногу."),
    ("zh", date(2021, 1, 5), "三月我朋友摔断了腿。"),
    ("ja", date(2021, 1, 5), "3月に友だちが足を折りました。"),
    ("ko", date(2021, 1, 5), "3월에 친구가 다리를 다쳤어요."),
    ("hi", date(2021, 1, 5), "मार्च में मेरी दोस्त का पैर टूट गया।"),
    ("ar", date(2021, 1, 5), "في مارس كسرت صديقتي ساقها."),
]
SOUND = [
    ("en", date(2020, 9, 21), "Which three flies would you tie for a small desert lake in October?"),
    ("en", date(2021, 1, 5), "I want to plant peas in March. In December the heating element burned out."),
    ("en", date(2021, 1, 5), "Last March my sister married, and in August she had twins."),
    ("en", date(2021, 1, 5), "In March 2020 we moved here. Every March the river rises."),
    ("en", date(2021, 1, 5), "We marched for hours and may have lost our way."),
    ("en", date(2020, 12, 6), "My sister moved in on December 2. She asked for four quilts before Christmas."),
    ("en", date(2021, 1, 9), "On Friday, January 8, we met."),
    ("de", date(2021, 1, 5), "Im März will ich umziehen. Letzten März hat meine Schwester geheiratet."),
    ("es", date(2021, 1, 5), "En marzo quiero mudarme. En diciembre se rompió el horno."),
    ("fr", date(2021, 1, 5), "En mars, je voudrais déménager. En décembre, le four était en panne."),
    ("it", date(2021, 1, 5), "A marzo vorrei traslocare. A dicembre il forno era rotto."),
    ("pt", date(2021, 1, 5), "Em março quero mudar de casa. Em dezembro o forno quebrou."),
    ("nl", date(2021, 1, 5), "In maart wil ik verhuizen. In december was de oven stuk."),
    ("ru", date(2021, 1, 5), "В марте я хочу переехать. В декабре сломалась печь."),
    ("zh", date(2021, 1, 5), "我打算三月搬家。十二月烤箱坏了。"),
    ("ja", date(2021, 1, 5), "3月に引っ越す予定です。12月にオーブンが壊れました。"),
    ("ko", date(2021, 1, 5), "3월에 이사할 예정이에요. 12월에 오븐이 고장났어요."),
    ("hi", date(2021, 1, 5), "मैं मार्च में घर बदलना चाहती हूँ। दिसंबर में ओवन खराब हो गया।"),
    ("ar", date(2021, 1, 5), "أريد أن أنتقل في مارس. في ديسمبر تعطل الفرن."),
]


class DayInGermany(date):
    """A day on a machine whose locale is German."""

    def __format__(self, form: str) -> str:
        return super().__format__(form.replace("%B", "Juni").replace("%A", "Montag"))


def test_an_objection_names_the_month_alike_on_every_machine() -> None:
    day = DayInGermany(2021, 6, 21)
    told = calendar_fault("In August, we moved.", day=day, language="en", own_month=False)
    assert told.startswith("is of 21 June 2021, and tells what lies ahead")


@pytest.mark.parametrize(("language", "day", "text"), AHEAD)
def test_what_lies_ahead_is_not_told_as_happened(language: str, day: date, text: str) -> None:
    assert "as if it had happened" in calendar_fault(text, day=day, language=language, own_month=False)


@pytest.mark.parametrize(("language", "day", "text"), SOUND)
def test_plans_habits_and_what_was_are_no_faults(language: str, day: date, text: str) -> None:
    assert calendar_fault(text, day=day, language=language, own_month=False) == ""


def test_every_language_has_its_calendar_and_every_holiday_its_day() -> None:
    assert CALENDAR_WORDS.keys() == LANGUAGES.keys()
    for words in CALENDAR_WORDS.values():
        assert [len(part.split()) for part in (words.months, words.weekdays, words.seasons)] == [12, 7, 4]
    assert CALENDAR_WORDS["en"].holidays.keys() == HOLIDAYS.keys()
    assert HOLIDAYS["thanksgiving"](2020) == date(2020, 11, 26)
    assert HOLIDAYS["memorial"](2021) == date(2021, 5, 31)
    assert HOLIDAYS["easter"](2021) == date(2021, 4, 4)


def test_a_speaker_does_not_call_the_present_month_by_name_and_a_record_does() -> None:
    text = "My transmission died in December."
    told = calendar_fault(text, day=date(2020, 12, 23), language="en", own_month=False)
    assert told.startswith("is of 23 December 2020, and calls its own month by name, at 'in December'")
    assert calendar_fault(text, day=date(2020, 12, 23), language="en", own_month=True) == ""


@pytest.mark.parametrize("text", ["On Monday, January 5, we met.", "Today is Monday."])
def test_a_day_has_its_own_weekday(text: str) -> None:
    assert "wrong weekday" in calendar_fault(text, day=date(2021, 1, 8), language="en", own_month=False)


ROLES = {"wife": "Clara Dias", "dog": "Biscuit"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My husband cooks on Fridays.", "speaks of a husband, and there is a wife, Clara Dias"),
        ("Remy's husband cooks on Fridays.", "speaks of a husband"),
        ("My wife Anna cooks.", "calls the wife 'Anna', whose name is 'Clara Dias'"),
        ("Rex, my dog, sleeps.", "calls the dog 'Rex', whose name is 'Biscuit'"),
        ("My wife Clara cooks, my dog Biscuit sleeps, and Lorraine's husband drives.", ""),
    ],
)
def test_the_people_and_animals_of_a_life_keep_their_names_and_sexes(text: str, told: str) -> None:
    context = TextInContext("query", f"{text} What should I do?", "en", name="Remy Thibodeaux", roles=ROLES)
    found = blocking_faults(context)
    assert [told in fault for fault in found] == [True] * bool(told)


@pytest.mark.parametrize("kind", ALARMS)
def test_planted_defects_of_time_and_cast_are_caught_without_false_alarms(kind: str) -> None:
    settings = Settings(GatePolicy(), judge_error=0.0)
    planted = [run(ALARMS[kind](Trial(site, True, settings))) for site in range(20)]
    sound = [run(ALARMS[kind](Trial(site, False, settings))) for site in range(20)]
    assert (sum(planted), sum(sound)) == (20, 0)


@pytest.mark.parametrize(
    "text", ["We moved in March 0000 to a flat.", "It was in March ٠٠٠٠ that we moved.", "It was on 3 March 9999."]
)
def test_a_year_that_is_none_ends_nothing(text: str) -> None:
    assert calendar_fault(text, day=date(2021, 6, 5), language="en", own_month=True) == ""
