"""Writes the replies to `session_queries/noise`: messages that tell nothing new of the user.

What is so for somebody else, or at another time, is said in reported speech, whose words stay those of the bank.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.phrases import compose_message, find_variable
from pipelines.embedded.amemgym.session_queries import SessionQueryRequest, choose_request, choose_subject
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import as_words
from pipelines.embedded.task import PromptTask

MAX_WORDINGS = 12
SUBJECT_FRAMES = (
    "Quite another matter today: {subject}. Please help me with it in a few plain sentences.",
    "This has been on my mind since breakfast: {subject}. What would you tell me about it?",
    "I need a hand with something small, and it has nothing to do with the rest. It is {subject}. Could you help me out?",
    "We were talking at the table and got stuck on this: {subject}. Please give me a short answer that I can pass on.",
)
PERSON_FRAMES = (
    "{person} told me: “{cue}” That is nothing like my own days. What would you suggest to them?",
    "{person} wrote to me: “{cue}” I did not know what to write back. Please draft two kind lines for me.",
    "Asking for somebody else. {person} says: “{cue}” Which advice may I pass on?",
)
TIME_FRAMES: Mapping[str, tuple[str, ...]] = {
    "plan_or_wish": (
        "Some day I may well say this myself: “{cue}” For now it is not so. What would change for me then?",
        "I keep thinking of a day on which I say: “{cue}” It is only a thought. Please tell me what people do first then.",
        "Maybe one day I will have to say: “{cue}” It has not come to that. Is it worth preparing for?",
    ),
    "past": (
        "Back then I would have told you: “{cue}” That time is over. Why do I still think of it so often?",
        "Before that I would have said: “{cue}” It is otherwise now. Please help me put it into a short story.",
    ),
}
REMINDERS = ("As you know, nothing has changed here.", "That much is as before.", "Still the same old story with me.")


def write_noise(task: PromptTask) -> dict[str, Any]:
    """Write one message for each assignment."""
    assignments: list[dict[str, Any]] = task.data("assignments")
    schema: dict[str, Sequence[str]] = {}
    for assignment in assignments:
        schema.update(load_bank().choices_of(assignment.get("fact", {})))
    others = load_bank().choices_of(name for name in task.data("facts") if name not in schema)
    shared = SessionQueryRequest(task.text("user_profile"), schema, task.rng("noise"), others)
    persons: dict[str, str] = {}
    for number, assignment in enumerate(assignments, start=1):
        if "persons" in assignment:
            persons[str(number)] = assignment["persons"][0]
    queries = [_write(assignment, shared) for assignment in assignments]
    return {"queries": queries, **({"persons": persons} if persons else {})}


def _write(assignment: Mapping[str, Any], shared: SessionQueryRequest) -> str:
    """Return the first wording that tells nothing but what the assignment restates."""
    exposed: dict[str, str] = {}
    if assignment["kind"] == "restates":
        exposed = {name: fact["holds"] for name, fact in assignment["fact"].items()}
    wording = ""
    for _ in range(MAX_WORDINGS):
        wording = _wording(assignment, exposed, shared)
        if shared.exposes(wording) == exposed:
            break
    return wording


def _wording(assignment: Mapping[str, Any], exposed: Mapping[str, str], shared: SessionQueryRequest) -> str:
    rng = shared.rng
    if assignment["kind"] == "unrelated":
        return rng.choice(SUBJECT_FRAMES).format(subject=assignment["subject"])
    [(name, fact)] = assignment["fact"].items()
    if exposed:
        topic = choose_subject([name], shared.topics, profile=shared.profile)
        request = choose_request(topic, exposed, shared)
        cue = _cue(name, fact["holds"], rng=rng)
        return compose_message("", [cue, rng.choice(REMINDERS)], request, rng=rng)
    cue = _cue(name, fact["spoken_of"], rng=rng)
    if assignment["kind"] == "of_another":
        person = str(assignment["persons"][0])
        return rng.choice(PERSON_FRAMES).format(person=person[0].upper() + person[1:], cue=cue)
    return rng.choice(TIME_FRAMES[assignment["as"]]).format(cue=cue)


def _cue(name: str, value: str, *, rng: SeededRandom) -> str:
    variable = find_variable(name, None)
    if variable is None or value not in variable.choices:
        return f"When it comes to {as_words(name)}, think of {as_words(value)}."
    return rng.choice(variable.choices[value].cues)
