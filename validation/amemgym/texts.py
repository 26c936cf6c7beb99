"""The checks of generated texts as rules of the stages that make them, and their rates over finished users."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from assets.amemgym.answers.variants import answer_in_context
from assets.amemgym.events import event_in_context
from assets.amemgym.questions import question_in_context
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet, QuestionSet
from assets.amemgym.records.report import TextLine
from assets.amemgym.records.state import Event, EventSet, SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.drafts import query_in_context
from assets.amemgym.state_trajectory.stage import summary_in_context
from assets.amemgym.text_checks import CHECKS, TextCheck, TextInContext, TextKind, near_duplicates
from assets.amemgym.user_profiles import profile_in_context
from validation.rules import Rule

SHOWN = 80  # characters of a text in a message
EXAMPLES = 3
Texts = Callable[..., Iterable[tuple[str, TextInContext]]]  # of a record, those read beside it, and the recipe


def question_texts(record: QuestionSet, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    yield from ((one.question_id, question_in_context(one, recipe=recipe)) for one in record.questions)


def profile_texts(record: UserProfile, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    yield "the paragraph", profile_in_context(record.complementary_info, recipe=recipe)


def summary_texts(record: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    for period in record.periods:
        if period.summary:
            new = [update.new for update in period.updates]
            yield f"the summary of period {period.index}", summary_in_context(period.summary, new, recipe=recipe)


def event_texts(record: EventSet, trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    states = {period.index: period.state for period in trajectory.periods}
    for period in record.periods:
        for event in period.events:
            yield f"{event.text[:SHOWN]!r}", event_in_context(event, states.get(period.index, {}), recipe=recipe)


def query_texts(
    record: SessionSet, profile: UserProfile, schema: StateSchema, recipe: AMemGymRecipe
) -> Iterator[tuple[str, TextInContext]]:
    for session in (session for period in record.periods for session in period.sessions):
        yield (
            f"{session.query[:SHOWN]!r}",
            query_in_context(session.query, session.exposed_states, name=profile.name, choices=schema.choices, recipe=recipe),
        )


def answer_texts(record: AnswerSet, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    required = {question.question_id: question.required_info for question in schema.questions}
    for question in record.questions:
        choices = [value for name in required.get(question.question_id, ()) for value in schema.choices.get(name, ())]
        for choice in question.choices:
            yield choice.choice_id, answer_in_context(choice.answer, choice.state, choices, recipe=recipe)


def text_rules(noun: str, kind: TextKind, texts: Texts, *, reads: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """A rule for each check of this kind of text; `noun` begins the truth."""
    return tuple(
        Rule(check.name, f"{noun} {check.truth}.", _finder(texts, (check,)), check.blocking, reads) for check in CHECKS[kind]
    )


def prose_rules(noun: str, kind: TextKind, texts: Texts, *, reads: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """One rule for a kind of text that no assistant is scored on: all checks that block."""
    checks = tuple(check for check in CHECKS[kind] if check.blocking)
    truth = f"{noun} are plain prose in the recipe's language, without values, identifiers, placeholders or contact data."
    return (Rule("plain_prose", truth, _finder(texts, checks), reads=reads),)


def _finder(texts: Texts, checks: Iterable[TextCheck]) -> Callable[..., Iterator[str]]:
    def find(*records: Any) -> Iterator[str]:
        for where, one in texts(*records):
            yield from (f"{where} {fault}" for check in checks if (fault := check.fault(one)))

    return find


def options_are_told_apart(record: AnswerSet, _: AMemGymRecipe) -> Iterator[str]:
    """Two options with nearly the same words have no right one among them."""
    for question in record.questions:
        for one, other in near_duplicates([choice.answer for choice in question.choices]):
            yield f"{question.choices[one].choice_id} and {question.choices[other].choice_id} share nearly all their words"


class TextCounter:
    """How many texts of finished users fail each check; needs nothing but episodes, so that any data set can be counted."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._recipe = recipe
        self._texts, self._faulty, self._users = Counter[str](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        self._examples: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, episode: Episode) -> None:
        seen = set[tuple[str, str]]()
        for one in self._contexts(episode):
            self._texts[one.kind] += 1
            for check in CHECKS[one.kind]:
                if fault := check.fault(one):
                    self._count((one.kind, check.name), f"{episode.user_id}: {one.text[:SHOWN]!r} {fault}", seen)
        for question in episode.questions:
            answers = [choice.answer for choice in question.answer_choices]
            for index in sorted({index for pair in near_duplicates(answers) for index in pair}):
                self._count(("answer", "options_apart"), f"{episode.user_id}: {answers[index][:SHOWN]!r}", seen)

    def _count(self, key: tuple[str, str], example: str, seen: set[tuple[str, str]]) -> None:
        self._faulty[key] += 1
        self._users[key] += key not in seen
        seen.add(key)
        if len(self._examples[key]) < EXAMPLES:
            self._examples[key].append(example)

    def _contexts(self, episode: Episode) -> Iterator[TextInContext]:
        recipe, schema = self._recipe, episode.state_schema.choices
        for question in episode.questions:
            choices = [value for name in question.required_info for value in schema[name]]
            yield TextInContext("question", question.query, recipe.language, others=choices, finder=recipe.gates.contact_data)
            yield from (answer_in_context(one.answer, one.state, choices, recipe=recipe) for one in question.answer_choices)
        for period in episode.periods:
            if period.period_summary:
                yield summary_in_context(period.period_summary, [one.new for one in period.updates], recipe=recipe)
            for session in period.sessions:
                name = episode.user_profile.name
                yield query_in_context(session.query, session.exposed_states, name=name, choices=schema, recipe=recipe)
                if session.event:
                    event = Event(states=tuple(session.exposed_states), text=session.event)
                    yield event_in_context(event, period.state, recipe=recipe)

    def lines(self) -> Iterator[TextLine]:
        """A line per kind of text and check, in that order."""
        for kind, checks in CHECKS.items():
            named = [(check.name, check.truth, check.blocking) for check in checks]
            if kind == "answer":
                named.append(("options_apart", "differ in more than a few words", True))
            for name, truth, blocking in named if self._texts[kind] else ():
                yield TextLine(
                    text=kind,
                    check=name,
                    truth=truth,
                    blocking=blocking,
                    texts=self._texts[kind],
                    faulty=self._faulty[kind, name],
                    users=self._users[kind, name],
                    examples=tuple(self._examples[kind, name]),
                )
