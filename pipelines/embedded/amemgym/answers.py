"""Writes the replies to `answers/draft` and `answers/refine`: advice that suits one situation and no other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.closings import closings
from pipelines.embedded.amemgym.lines import Meaning, never_mended
from pipelines.embedded.amemgym.wording import said
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.task import Task

UNCLEAR_DRAFTS = 0.08  # a third of them can be told apart all the same, by their other variables
UNCLEAR_AGAIN = 0.15
ROOM_FOR_CLOSING = 36  # words: shorter answers may get a closing sentence, so that lengths come closer
CLOSED = 0.4
REWRITES = 4
Assignment = Mapping[str, str]


@dataclass(frozen=True)
class Sheet:
    """One question, the topic it comes from, and the closing sentences that its answers have not used yet."""

    question: str
    topic: Topic | None
    rng: SeededRandom
    ends: Iterator[str]


def draft(task: Task) -> dict[str, str]:
    """One answer per variant; variants that share a value get different advice for it, as far as there is."""
    info: dict[str, list[str]] = task.data("required_info")
    variants: dict[str, dict[str, str]] = task.data("variants")
    question = task.text("question")
    sheet = _sheet(question, list(info), rng=task.rng("answers"))
    answers: dict[str, str] = {}
    for index, (key, assignment) in enumerate(variants.items()):
        earlier = list(variants.values())[:index]
        unclear = _unclear(sheet, assignment, likely=UNCLEAR_DRAFTS)
        answer = _answer(sheet, assignment, turns=_turns(assignment, earlier), unclear=unclear)
        if answer in answers.values():
            answer = _answer(sheet, assignment, turns=_turns(assignment, earlier), unclear=None)
        answers[key] = answer
    return answers


def refine(task: Task) -> dict[str, str]:
    """The answer with other advice; mostly it can be told apart then."""
    assignment: dict[str, str] = task.data("matched_state")
    others: list[dict[str, str]] = task.data("other_states")
    question = task.text("question")
    values = {name: tuple(dict.fromkeys(state[name] for state in (assignment, *others))) for name in assignment}
    sheet = _sheet(question, list(assignment), rng=task.rng("refine"))
    unclear = _unclear(sheet, assignment, likely=UNCLEAR_AGAIN)
    answer = ""
    for _ in range(REWRITES):
        answer = _answer(sheet, assignment, turns=dict.fromkeys(assignment, sheet.rng.integer_below(3)), unclear=unclear)
        told = [Meaning(name, value, values[name]).told_by(answer) for name, value in assignment.items()]
        if all(told) and answer != task.text("answer"):
            break
    return {"answer": answer}


def _sheet(question: str, names: Sequence[str], *, rng: SeededRandom) -> Sheet:
    topic = topic_of(question, names)
    return Sheet(question, topic, rng, iter(closings(topic, rng=rng)))


def topic_of(question: str, names: Sequence[str]) -> Topic | None:
    """The topic whose question this is, else one that has the variables."""
    bank = load_bank()
    asked = [topic for topic in bank.topics if question in topic.questions]
    homes = [topic for name in names for topic in bank.homes.get(name, ())]
    return next(iter(asked), max(homes, key=homes.count, default=None))


def _turns(assignment: Assignment, earlier: Sequence[Assignment]) -> dict[str, int]:
    """How many earlier variants share each value: the next of its lines is due."""
    return {name: sum(state[name] == value for state in earlier) for name, value in assignment.items()}


def _unclear(sheet: Sheet, assignment: Assignment, *, likely: float) -> str | None:
    if never_mended(sheet.question, *sorted(assignment.items())):
        return min(assignment)
    return sheet.rng.choice(list(assignment)) if sheet.rng.bernoulli(likely) else None


def _answer(sheet: Sheet, assignment: Assignment, *, turns: Mapping[str, int], unclear: str | None) -> str:
    sentences = [_advice(sheet, name, value, turn=turns[name], unclear=name == unclear) for name, value in assignment.items()]
    length = sum(len(sentence.split()) for sentence in sentences)
    closes = len(sentences) < 3 and length < ROOM_FOR_CLOSING and sheet.rng.bernoulli(CLOSED)
    end = next(sheet.ends, "") if closes else ""
    return " ".join([*sheet.rng.shuffled(sentences), end]).strip()


def _advice(sheet: Sheet, name: str, value: str, *, turn: int, unclear: bool) -> str:
    variable = _variable(sheet.topic, name)
    if variable is None or value not in variable.choices:
        return f"Plan with {said(value)} in mind, because {said(name)} decides what will work for you."
    if unclear:
        return variable.vague_advice[0]
    lines = SeededRandom(sheet.question, name, value).shuffled(variable.choices[value].advice)
    return lines[turn % len(lines)]


def _variable(topic: Topic | None, name: str) -> Variable | None:
    homes = load_bank().homes.get(name, ())
    return (topic.variable(name) if topic else None) or (homes[0].variable(name) if homes else None)
