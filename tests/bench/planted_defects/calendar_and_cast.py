"""Defects in the time, the people and the places of a text: what lies ahead told as happened, a dog renamed, a room too many.

Beside each stands a sound text that speaks of the same: of a month that is over, of plans, of people by their own names.
"""

import calendar
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta

from assets.engine.seeded_random import SeededRandom
from assets.text.calendar_faults import HOLIDAYS, SEASON_STARTS
from assets.text.text_checks import TextKind, faults
from tests.bench.planted_defects.texts import SOUND
from tests.bench.planted_defects.trial import Trial

Alarm = Callable[[Trial], Awaitable[bool]]
# Of a day, a sentence with the defect and a sound one.
Sentences = Callable[[date, SeededRandom], tuple[str, str]]
ROLES = {"wife": "Clara Dias", "sister": "Ruth", "dog": "Biscuit"}
ROOMS = ("main room with a bed", "kitchen", "front yard")
HAPPENED = ("{when} my neighbor moved in.", "My boiler broke down {when}.", "{when} we sold the car, and I miss it.")
NAMED_HOLIDAYS = {"christmas": "Christmas", "memorial": "Memorial Day", "thanksgiving": "Thanksgiving", "easter": "Easter"}
SEASONS = ("spring", "summer", "fall", "winter")


def _happened(when: str, rng: SeededRandom) -> str:
    sentence = rng.choice(HAPPENED).format(when=when)
    return sentence[0].upper() + sentence[1:]


def month_ahead(day: date, rng: SeededRandom) -> tuple[str, str]:
    ahead = calendar.month_name[(day.month + rng.integer_below(3)) % 12 + 1]
    past = calendar.month_name[(day.month - 2 - rng.integer_below(6)) % 12 + 1]
    preposition = rng.choice(["in", "since", "by", "in late"])
    sound = [
        _happened(f"in {past}", rng),
        f"My neighbor wants to move in {ahead}.",
        f"Last {ahead} my neighbor moved in.",
        f"Every {ahead} the river rises.",
    ]
    return _happened(f"{preposition} {ahead}", rng), rng.choice(sound)


def own_month(day: date, rng: SeededRandom) -> tuple[str, str]:
    month = calendar.month_name[day.month]
    return _happened(f"in {month}", rng), _happened(f"on {month} {day.day}", rng)


def day_ahead(day: date, rng: SeededRandom) -> tuple[str, str]:
    ahead = day + timedelta(days=1 + rng.integer_below(60))
    past = day - timedelta(days=1 + rng.integer_below(60))
    return _happened(f"on {ahead:%B} {ahead.day}", rng), _happened(f"on {past:%B} {past.day}", rng)


def holiday_ahead(day: date, rng: SeededRandom) -> tuple[str, str]:
    name = rng.choice(list(NAMED_HOLIDAYS))
    holiday = HOLIDAYS[name](day.year)
    shown = NAMED_HOLIDAYS[name]
    sound = [f"I want a quiet {shown} this time.", f"Every {shown} my neighbor sings."]
    return _at(holiday - timedelta(days=1 + rng.integer_below(90)), _happened(f"over {shown}", rng)), rng.choice(sound)


def season_ahead(day: date, rng: SeededRandom) -> tuple[str, str]:
    place = rng.integer_below(4)
    before = date(day.year, SEASON_STARTS[place], 1) - timedelta(days=1 + rng.integer_below(25))
    sound = f"I want to sell the car in {SEASONS[place]}."
    return _at(before, _happened(f"in {SEASONS[place]}", rng)), sound


def wrong_weekday(day: date, rng: SeededRandom) -> tuple[str, str]:
    past = day - timedelta(days=1 + rng.integer_below(40))
    other = calendar.day_name[(past.weekday() + 1 + rng.integer_below(6)) % 7]
    date_of = f"{past:%B} {past.day}"
    return _happened(f"on {other}, {date_of},", rng), _happened(f"on {past:%A}, {date_of},", rng)


def _at(day: date, sentence: str) -> str:
    """The sentence with the day that its text is of, where the defect asks for one of its own."""
    return f"{day.isoformat()}\n{sentence}"


def other_spouse(_: date, rng: SeededRandom) -> tuple[str, str]:
    verb = rng.choice(["cooks", "works late", "likes the garden"])
    return f"My husband {verb}.", rng.choice([f"My wife {verb}.", f"My neighbor's husband {verb}."])


def other_name_of_the_wife(_: date, rng: SeededRandom) -> tuple[str, str]:
    sound = rng.choice(["My wife Clara is out.", "I drive my wife Mondays and Fridays.", "Lately, my wife, who is out, calls."])
    return f"My wife {rng.choice(['Anna', 'Mei', 'Salome'])} is out.", sound


def other_name_of_the_dog(_: date, rng: SeededRandom) -> tuple[str, str]:
    name = rng.choice(["Rex", "Luna", "Shadow"])
    return rng.choice([f"My dog {name} barks.", f"{name}, my dog, barks."]), "My dog Biscuit barks at every other dog."


def open_on_a_sunday(day: date, rng: SeededRandom) -> tuple[str, str]:
    sunday = day + timedelta(days=6 - day.weekday())
    place = rng.choice(["office", "dental clinic", "school", "bank"])
    planted = [f"Today I signed the lease at the {place}.", f"I just got back from the {place}.", f"My {place} called today."]
    sound = [
        f"I go to the {place} on Monday.",
        f"The {place} is closed today.",
        "Today I got honey at the market.",
        "I just got back from church.",
    ]
    return _at(sunday, rng.choice(planted)), rng.choice(sound)


def event_at_a_closed_place(day: date, rng: SeededRandom) -> tuple[str, str]:
    planted, sound = open_on_a_sunday(day, rng)
    place = rng.choice(["clinic", "notary's office", "town hall"])
    return rng.choice([planted, f"{planted.partition(chr(10))[0]}\nRemy signed at the {place}, and moved in."]), sound


def room_too_many(_: date, rng: SeededRandom) -> tuple[str, str]:
    room = rng.choice(["attic", "dining room", "garage", "balcony", "basement"])
    sound = ["My kitchen is damp.", f"My sister's {room} is damp.", "I swept our yard.", "The hotel bedroom was loud."]
    return f"My {room} is damp.", rng.choice(sound)


IN_ALL: Mapping[str, Sentences] = {
    "tells of a month ahead as over": month_ahead,
    "tells of a day ahead as over": day_ahead,
    "tells of a holiday ahead as over": holiday_ahead,
    "tells of a season ahead as over": season_ahead,
    "has a day with the wrong weekday": wrong_weekday,
    "makes a husband of the wife": other_spouse,
    "gives the wife another name": other_name_of_the_wife,
    "gives the dog another name": other_name_of_the_dog,
    "has a room that the home lacks": room_too_many,
}
IN_QUERIES: Mapping[str, Sentences] = {
    **IN_ALL,
    "calls the present month by its name": own_month,
    "is at a closed place on a Sunday": open_on_a_sunday,
}
IN_EVENTS: Mapping[str, Sentences] = {**IN_ALL, "happens at a closed place on a Sunday": event_at_a_closed_place}


def alarm_of(kind: TextKind, sentences: Sentences) -> Alarm:
    """Whether any check finds a fault in the text."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted time", kind, trial.site)
        day = date(2020, 10, 1) + timedelta(days=rng.integer_below(900))
        sound = replace(SOUND[kind](rng), name="Remy Marsh", roles=ROLES, rooms=ROOMS)
        planted, fine = sentences(day, rng)
        own_day, _, own_sentence = planted.rpartition("\n")
        day = date.fromisoformat(own_day) if own_day else day
        told = own_sentence if trial.planted else fine
        return any(faults(replace(sound, text=f"{told} {sound.text}", day=day)))

    return alarm


ALARMS: dict[str, Alarm] = {
    **{f"query: {name}": alarm_of("query", sentences) for name, sentences in IN_QUERIES.items()},
    **{f"event: {name}": alarm_of("event", sentences) for name, sentences in IN_EVENTS.items()},
}
