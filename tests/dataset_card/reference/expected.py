"""The example user of `tests/support/scenario.py` in the reference's shape, letter by letter."""

import copy
from typing import Any

EXPECTED: dict[str, Any] = {
    "id": "5f0c-zoë-001",
    "start_time": "2020-10-01",
    "user_profile": {
        "uuid": "5f0c-zoë-001",
        "name": 'Zoë "Zed" O\'Brien-Núñez',
        "age": 41,
        "gender": "female",
        "marital_status": "",
        "education_level": "bachelors (C++ | {sic})",
        "occupation": "night nurse",
        "hobbies_and_interests": "running, 書道",
        "skills_and_expertise": "triage; \\LaTeX",
        "complementary_info": 'Zoë grew up in León 🙂 and says "mañana" a lot.\u2028She keeps {lists}.',
        "formatted_str": 'Name: Zoë "Zed" O\'Brien-Núñez\nAge: 41\nOccupation: night nurse',
    },
    "state_schema": {
        "diet": ["eats everything", "vegetarian", 'vegan, but "flexible"'],
        "training_goal": ["first 5 km", "half-marathon (21,1 km)", "rest & recover"],
        "evenings {free}": ["{none}", "Tue | Thu", "every evening – 毎晩"],
    },
    "periods": [
        {
            "period_start": None,
            "period_end": "2020-10-01",
            "period_summary": None,
            "sessions": [
                {
                    "event": None,
                    "exposed_states": {"training_goal": "first 5 km", "diet": "eats everything"},
                    "query": "I eat whatever the canteen has\nand can just about jog to the corner – a plan for my first race?",
                    "messages": [],
                    "session_time": "2020-09-12 07:05:09",
                },
                {
                    "event": None,
                    "exposed_states": {"evenings {free}": "{none}"},
                    "query": "Night shifts eat all my evenings. Any {quick} hobby for the mornings?",
                    "messages": [],
                    "session_time": "2020-09-25 23:59:59",
                },
            ],
            "state": {"diet": "eats everything", "training_goal": "first 5 km", "evenings {free}": "{none}"},
            "updates": {
                "diet": {"old": None, "new": "eats everything"},
                "training_goal": {"old": None, "new": "first 5 km"},
                "evenings {free}": {"old": None, "new": "{none}"},
            },
            "update_cnts": {"diet": 0, "training_goal": 0, "evenings {free}": 0},
        },
        {
            "period_start": "2020-10-01",
            "period_end": "2021-01-01",
            "period_summary": "A warning at the clinic.",
            "sessions": [
                {
                    "event": 'Dr. Müller\'s "numbers talk" made her change both her plate\nand her plan.',
                    "exposed_states": {"diet": "vegetarian", "training_goal": "half-marathon (21,1 km)"},
                    "query": 'My doctor said "no more meat", and I signed up for twice the distance… where do I start?',
                    "messages": [],
                    "session_time": "2020-11-03 00:00:00",
                }
            ],
            "state": {"diet": "vegetarian", "training_goal": "half-marathon (21,1 km)", "evenings {free}": "{none}"},
            "updates": {
                "diet": {"old": "eats everything", "new": "vegetarian"},
                "training_goal": {"old": "first 5 km", "new": "half-marathon (21,1 km)"},
            },
            "update_cnts": {"diet": 1, "training_goal": 1, "evenings {free}": 0},
        },
        {
            "period_start": "2021-01-01",
            "period_end": "2021-04-01",
            "period_summary": "Shifts change; “she | the ward” agreed.",
            "sessions": [
                {
                    "event": "The ward gave her Tuesdays | Thursdays off.",
                    "exposed_states": {"evenings {free}": "Tue | Thu"},
                    "query": "With two evenings back each week, what could I learn? 書道 maybe?",
                    "messages": [],
                    "session_time": "2021-02-28 18:30:00",
                }
            ],
            "state": {"diet": "vegetarian", "training_goal": "half-marathon (21,1 km)", "evenings {free}": "Tue | Thu"},
            "updates": {"evenings {free}": {"old": "{none}", "new": "Tue | Thu"}},
            "update_cnts": {"diet": 1, "training_goal": 1, "evenings {free}": 1},
        },
    ],
    "qas": [
        {
            "query": 'What should I cook "before" a run?',
            "required_info": ["diet", "training_goal"],
            "answer_choices": [
                {
                    "state": ["eats everything", "first 5 km"],
                    "answer": "Anything light does: pasta with ham two hours before an easy jog. Keep it small.",
                    "type": "experience",
                },
                {
                    "state": ['vegan, but "flexible"', "rest & recover"],
                    "answer": "A vegan bowl is enough while you rest. Add {salt}.",
                    "type": "random",
                },
                {
                    "state": ["vegetarian", "half-marathon (21,1 km)"],
                    "answer": "Lentils and rice the night before a long run. Skip the cream, and drink well.",
                    "type": "experience",
                },
            ],
        },
        {
            "query": "Which evening suits a {tasting}?",
            "required_info": ["evenings {free}", "diet"],
            "answer_choices": [
                {
                    "state": ["Tue | Thu", "vegetarian"],
                    "answer": "Thursday, with a cheese board; Tuesday is too early.",
                    "type": "experience",
                },
                {
                    "state": ["{none}", "eats everything"],
                    "answer": 'Not for now: make it a breakfast with "everything".',
                    "type": "experience",
                },
                {
                    "state": ["{none}", "vegetarian"],
                    "answer": "Not yet, so invite them to a meatless brunch.",
                    "type": "experience",
                },
            ],
        },
    ],
}


def put(item: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """A copy of the item with another value at this path."""
    changed: Any = copy.deepcopy(item)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed
