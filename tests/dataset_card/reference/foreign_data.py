"""Five users as somebody else's program writes them, in the reference's shape, with what is found in such files.

Each has a question that names a merged variable twice (and so an option that no state can match), a variable that serves no
question, answers of which two in three spell a value, and a variable with choices of its own.
"""

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

NAMES = ("Tove Anker", "Jun Okabe", "Marta Sousa", "Idris Vale", "Petra Holm")
# By variable and choice: what a query says, and what an answer advises.
LIVES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "commute": {
        "cycles_to_work": (
            "My helmet hangs beside the office coats these days",
            "Keep a dry shirt at your desk and oil the chain on Sundays",
        ),
        "takes_the_ferry": (
            "I watch the harbour cranes go by before my first meeting",
            "Read on deck both ways and leave the calls for the pier",
        ),
        "stays_at_home": (
            "My desk stands between the bed and the window now",
            "Walk once around the block before you open the laptop",
        ),
    },
    "sleep": {
        "up_before_dawn": (
            "The baker and I greet each other in the dark",
            "Put the hard part first, while the street is silent",
        ),
        "night_owl": (
            "At one in the morning I am wide awake and tidy drawers",
            "Leave the demanding part for after ten and dim the lamps",
        ),
        "broken_nights": ("The baby calls me every two hours", "Work in pieces of twenty minutes and nap when the house does"),
    },
    "kitchen": {
        "single_hotplate": (
            "All I have to cook on is one ring by the sink",
            "Choose stews that need one pot and little watching",
        ),
        "full_kitchen": ("Our new oven takes two trays at once", "Roast a big tray of vegetables and bake on the rack below"),
        "eats_out": (
            "The waiters downstairs know what I have before I sit",
            "Pick the dish of the day and ask for half the sauce",
        ),
    },
    "purse": {
        "counts_coins": ("I add up the basket before I reach the till", "Go by the season and buy the dented tins"),
        "some_to_spare": (
            "At the month's end a little is left for once",
            "Spend a bit more on oil and cheese and save on the rest",
        ),
        "well_off": ("Since the sale of the shop I need not look at prices", "Order from the growers and let them deliver"),
    },
    "pet": {
        "old_dog": ("A grey muzzle rests on my foot while I type", "-"),
        "two_cats": ("Two tails knock the pens off my table", "-"),
        "no_pet": ("The bowls in the corner went to a neighbour", "-"),
    },
}
# What is asked, and the variables that it names: merged ones stand twice.
ASKED = (
    ("How should I set up my working mornings?", ("commute", "commute")),
    ("When and where can I best get some thinking done?", ("commute", "sleep")),
    ("What could I make for supper this week?", ("kitchen", "purse")),
    ("How do I fit a proper meal around my rest?", ("sleep", "kitchen", "sleep")),
)
START = date(2024, 3, 1)
PERIODS = 3


def foreign_users(count: int = 5) -> list[dict[str, Any]]:
    """The items of the array, as plain JSON."""
    return [_user(number) for number in range(count)]


def write_foreign_data(path: Path, items: list[dict[str, Any]] | None = None) -> Path:
    path.write_text(json.dumps(foreign_users() if items is None else items, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def _user(number: int) -> dict[str, Any]:
    states = [_state(number, period) for period in range(PERIODS + 1)]
    name = NAMES[number % len(NAMES)]
    profile = {"name": name, "age": 30 + 7 * number, "gender": "female" if number % 2 else "male", "marital_status": "single"}
    profile |= {"education_level": "college", "occupation": "surveyor", "hobbies_and_interests": "chess, maps"}
    profile |= {"skills_and_expertise": "drawing", "complementary_info": f"{name} likes order and long walks."}
    facts = "\n".join(f"{key}: {value}" for key, value in profile.items())
    return {
        "id": f"tourist-{number:02d}",
        "start_time": START.isoformat(),
        "user_profile": {"uuid": f"tourist-{number:02d}", **profile, "formatted_str": facts},
        "state_schema": {variable: list(choices) for variable, choices in LIVES.items()},
        "periods": [_period(states, index, number) for index in range(PERIODS + 1)],
        "qas": [_question(text, names, states, number) for text, names in ASKED],
    }


def _state(number: int, period: int) -> dict[str, str]:
    """Two variables move on in every period, others in turn."""
    found: dict[str, str] = {}
    for place, (variable, choices) in enumerate(LIVES.items()):
        moved = sum((place - 2 * earlier) % len(LIVES) < 2 for earlier in range(period))
        found[variable] = list(choices)[(number + place + moved) % len(choices)]
    return found


def _period(states: list[dict[str, str]], index: int, number: int) -> dict[str, Any]:
    state, before = states[index], states[index - 1] if index else dict[str, str]()
    changed = {name: value for name, value in state.items() if before.get(name) != value}
    end = _months_later(3 * index)
    return {
        "period_start": _months_later(3 * index - 3).isoformat() if index else None,
        "period_end": end.isoformat(),
        "period_summary": f"Some habits changed for the {index}. time." if index else None,
        "sessions": [
            _session(name, value, end, place, first=index == 0) for place, (name, value) in enumerate(changed.items())
        ],
        "state": state,
        "updates": {name: {"old": before.get(name), "new": value} for name, value in changed.items()},
        "update_cnts": {name: sum(states[one][name] != states[one - 1][name] for one in range(1, index + 1)) for name in state},
    }


def _months_later(months: int) -> date:
    return date(START.year + (START.month - 1 + months) // 12, (START.month - 1 + months) % 12 + 1, START.day)


def _session(name: str, value: str, end: date, place: int, *, first: bool) -> dict[str, Any]:
    told, _ = LIVES[name][value]
    at = datetime.combine(end - timedelta(days=20 - 2 * place), datetime.min.time()) + timedelta(hours=9, minutes=place)
    return {
        "event": None if first else f"Something came up, and the days were arranged anew around it ({place + 1}).",
        "exposed_states": {name: value},
        "query": f"{told}. What should I think of before the weekend?",
        "messages": [],
        "session_time": at.isoformat(sep=" "),
    }


def _question(text: str, names: tuple[str, ...], states: list[dict[str, str]], number: int) -> dict[str, Any]:
    lived = list(dict.fromkeys(tuple(state[name] for name in names) for state in states))
    others = [values for values in product(*(LIVES[name] for name in names)) if values not in lived]
    # The first that is left over contradicts itself where a variable stands twice: it takes both for different ones.
    variants = [*lived, *others[: max(1, 4 - len(lived))]]
    choices = [
        {"state": list(values), "answer": _answer(names, values, spell=place % 3 > 0), "type": _type(values, lived)}
        for place, values in enumerate(variants)
    ]
    turn = number % len(choices)
    return {"query": text, "required_info": list(names), "answer_choices": choices[turn:] + choices[:turn]}


def _type(values: tuple[str, ...], lived: list[tuple[str, ...]]) -> str:
    return "experience" if values in lived else "random"


def _answer(names: tuple[str, ...], values: tuple[str, ...], *, spell: bool) -> str:
    advice = ". ".join(dict.fromkeys(LIVES[name][value][1] for name, value in zip(names, values, strict=True)))
    return f"{advice}. It suits somebody who {values[0].replace('_', ' ')}." if spell else f"{advice}. Start this week."
