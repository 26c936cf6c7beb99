"""The embedded model asked with the project's real prompts, about one person and a few of her variables."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assets.amemgym.numbered_choices import NumberedChoices
from pipelines.embedded.app import write_reply
from pipelines.embedded.reader import read_value
from pipelines.embedded.task import OBJECTION, recognise
from prompts.catalogue import load_prompt
from tests.pipelines.embedded.bank_rules import CONCEPTS

PROFILE = """Name: Dana Whitfield
Age: 41
Gender: female
Marital status: divorced
Education: bachelors (business)
Occupation: office manager
Lives in: Dayton, OH, USA
Hobbies and interests: Vegetable gardening, Running, Photography
Skills and expertise: Scheduling, Budgeting
About: Dana Whitfield keeps a calm office and a lively garden."""
COMMON = {"user_profile": PROFILE, "start_date": "2020-10-01", "language": "English"}
OF_MESSAGES = {**COMMON, "voice": "I grumble a little before I ask."}
SCHEMA = {
    "vegetable_growing_trouble": ["insect_infestation", "parched_soil", "leaf_mildew"],
    "vegetable_harvest_preference": ["salad_leaves", "cooking_herbs", "root_crops"],
    "home_type": ["small_apartment", "shared_house", "house_with_large_yard"],
    "usual_running_surface": ["paved_streets", "stadium_track", "indoor_treadmill"],
    "physical_condition": list(CONCEPTS["physical_condition"]),
}
STATE = {name: values[1] for name, values in SCHEMA.items()}


def ask(name: str, values: Mapping[str, object], *, objection: str = "", seed: int = 1) -> Any:
    prompt = load_prompt(name).render(**values)
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    if objection:
        content = f"{OBJECTION} {objection}\nAnswer again with the complete, corrected JSON object."
        messages += [{"role": "assistant", "content": "{}"}, {"role": "user", "content": content}]
    text = write_reply(recognise(messages, schema_name=name.replace("/", "_"), seed=seed))
    return json.loads(text) if text.startswith("{") else text


def by_number(choices: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], dict[int, tuple[str, str]]]:
    """The choices as judges are shown them, and what each number means."""
    options = NumberedChoices.of(choices)
    return options.in_prompt(), dict(enumerate(options.pairs, start=1))


def readings(text: str, names: Sequence[str]) -> dict[str, str | None]:
    return {name: read_value(text, name=name, values=SCHEMA[name]) for name in names}


def events(changed: Sequence[str], *, objection: str = "", seed: int = 1) -> Any:
    day = {"day": "2020-11-05"}
    changes = {name: {**day, "old": STATE[name], "new": SCHEMA[name][0], "choices": SCHEMA[name]} for name in changed}
    rest = {name: value for name, value in STATE.items() if name not in changed}
    period = {"from": "2020-10-01", "to": "2021-01-01"}
    before: dict[str, object] = {"story": {}, "earlier_events": [], "summary": "Things changed."}
    values = {**before, "period": period, "state_changes": changes, "unchanged_states": rest, **COMMON}
    return ask("events/elaborate", values, objection=objection, seed=seed)["events"]


def initial_queries(state: Mapping[str, str] = STATE, *, seed: int = 1, objection: str = "") -> Any:
    others = {name: value for name, value in STATE.items() if name not in state}
    values = {
        **OF_MESSAGES,
        "state_schema": SCHEMA,
        "initial_state": dict(state),
        "other_states": others,
        "words": [30],
        "whole": bool(others),
    }
    return ask("session_queries/initial", values, seed=seed, objection=objection)["queries"]
