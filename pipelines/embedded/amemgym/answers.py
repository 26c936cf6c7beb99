"""Writes the replies to `answers/draft` and `answers/refine`: advice that suits one situation and no other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.phrases import TargetValue, choose_unclear, find_variable
from pipelines.embedded.assistant.closings import closing_sentences
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import as_words
from pipelines.embedded.task import PromptTask
from validation.amemgym.shortcuts.programs import shared_words, words

UNCLEAR_DRAFT_RATE = 0.08  # a third of them can be identified all the same, by their other variables
UNCLEAR_REFINEMENT_RATE = 0.15
MAX_WORDS_BEFORE_CLOSING = 36  # shorter answers may get a closing sentence, so that lengths become more alike
CLOSING_RATE = 0.4
MAX_REWRITES = 4
Assignment = Mapping[str, str]


@dataclass(frozen=True)
class AnswerRequest:
    """One question, its topic in the bank, and the closing sentences that its answers have not used yet."""

    question: str
    topic: Topic | None
    rng: SeededRandom
    closings: Iterator[str]


def write_variant_answers(task: PromptTask) -> Mapping[str, str]:
    """Write one answer per variant; variants that share a value get different advice for it, as far as there is."""
    info: dict[str, list[str]] = task.data("required_info")
    rows: dict[str, list[str]] = task.data("variants")
    variants: dict[str, dict[str, str]] = {}
    for key, row in rows.items():
        variants[key] = dict(zip(info, row, strict=True))
    request = _answer_request(task.text("question"), list(info), rng=task.rng("answers"))
    answers: dict[str, str] = {}
    unclear: dict[str, str | None] = {}
    for index, (key, assignment) in enumerate(variants.items()):
        repetitions = _count_repetitions(assignment, list(variants.values())[:index])
        unclear[key] = choose_unclear(assignment, rate=UNCLEAR_DRAFT_RATE, rng=request.rng)
        answer = _answer(request, assignment, repetitions=repetitions, unclear=unclear[key])
        if answer in answers.values():
            answer = _answer(request, assignment, repetitions=repetitions, unclear=None)
        answers[key] = answer
    return _even_out(answers, variants, unclear, request)


def _even_out(
    answers: Mapping[str, str], variants: Mapping[str, Assignment], unclear: Mapping[str, str | None], request: AnswerRequest
) -> Mapping[str, str]:
    """Return the answers in such words that chance says which of them is least like the others.

    Else it is the one whose values no other variant shares, and such a variant holds longer than most.
    """
    odd = request.rng.choice(list(answers))
    for _ in range(MAX_REWRITES * len(answers)):
        alike = _likeness(answers)
        least = min(alike, key=alike.__getitem__)
        if least == odd:
            break
        for key, sign in ((least, 1), (odd, -1)):
            repetitions: dict[str, int] = {}
            for name in variants[key]:
                repetitions[name] = request.rng.integer_below(3)
            answer = _answer(request, variants[key], repetitions=repetitions, unclear=unclear[key])
            redrafted = {**answers, key: answer}
            if answer not in answers.values() and sign * _likeness(redrafted)[key] > sign * alike[key]:
                answers = redrafted
    return answers


def _likeness(answers: Mapping[str, str]) -> dict[str, float]:
    """Measure how much each answer is like the others in its words, as the report does."""
    measured = shared_words(list(map(words, answers.values())))
    return dict(zip(answers, measured, strict=True))


def rewrite_answer(task: PromptTask) -> dict[str, str]:
    """Write the answer with other advice; mostly it can be identified then."""
    assignment: dict[str, str] = task.data("matched_state")
    others: list[dict[str, str]] = task.data("other_states")
    targets: list[TargetValue] = []
    for name, value in assignment.items():
        values = [value]
        for state in others:
            values.append(state[name])
        targets.append(TargetValue(name, value, tuple(dict.fromkeys(values))))
    request = _answer_request(task.text("question"), list(assignment), rng=task.rng("refine"))
    unclear = choose_unclear(assignment, rate=UNCLEAR_REFINEMENT_RATE, rng=request.rng)
    answer = ""
    for _ in range(MAX_REWRITES):
        repetitions = dict.fromkeys(assignment, request.rng.integer_below(3))
        answer = _answer(request, assignment, repetitions=repetitions, unclear=unclear)
        if answer != task.text("answer") and all(target.is_conveyed_by(answer) for target in targets):
            break
    return {"answer": answer}


def _answer_request(question: str, names: Sequence[str], *, rng: SeededRandom) -> AnswerRequest:
    topic = _topic_of_question(question, names)
    return AnswerRequest(question, topic, rng, iter(closing_sentences(topic, rng=rng)))


def _topic_of_question(question: str, names: Sequence[str]) -> Topic | None:
    """Return the topic whose question this is, else the one that has most of the variables."""
    bank = load_bank()
    having = bank.topics_for(names)
    return bank.topic_of_question.get(question) or max(having, key=having.count, default=None)


def _count_repetitions(assignment: Assignment, earlier: Sequence[Assignment]) -> dict[str, int]:
    """Count the earlier variants that share each value: the next phrase of its advice is due."""
    counts = dict.fromkeys(assignment, 0)
    for state in earlier:
        for name, value in assignment.items():
            if state[name] == value:
                counts[name] += 1
    return counts


def _answer(request: AnswerRequest, assignment: Assignment, *, repetitions: Mapping[str, int], unclear: str | None) -> str:
    sentences: list[str] = []
    for name, value in assignment.items():
        sentences.append(_advice(request, name, value, repetition=repetitions[name], unclear=name == unclear))
    length = len(" ".join(sentences).split())
    closing = ""
    if len(sentences) < 3 and length < MAX_WORDS_BEFORE_CLOSING and request.rng.bernoulli(CLOSING_RATE):
        closing = next(request.closings, "")
    return " ".join([*request.rng.shuffled(sentences), closing]).strip()


def _advice(request: AnswerRequest, name: str, value: str, *, repetition: int, unclear: bool) -> str:
    variable = find_variable(name, request.topic)
    if variable is None or value not in variable.choices:
        return f"Plan with {as_words(value)} in mind, because {as_words(name)} decides what will work for you."
    if unclear:
        return variable.vague_advice[0]
    phrases = SeededRandom(request.question, name, value).shuffled(variable.choices[value].advice)
    return phrases[repetition % len(phrases)]
