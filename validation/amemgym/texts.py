"""Check generated texts: as rules of the stages that make them, and as rates over finished users."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from assets.amemgym.answers.variants import answer_in_context
from assets.amemgym.events import event_in_context
from assets.amemgym.questions import choices_of, question_in_context
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet, QuestionSet
from assets.amemgym.records.report import TextLine
from assets.amemgym.records.state import EventSet, SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.drafts import query_in_context
from assets.amemgym.state_trajectory.stage import summary_in_context
from assets.amemgym.user_profiles import profile_in_context
from assets.recipe.amemgym import AMemGymRecipe
from assets.text.text_checks import CHECKS, TextCheck, TextInContext, TextKind, faults, near_duplicates
from validation.rules import RecordsOfItem, Rule

SHOWN = 80  # characters of a text in a message
# The check of texts of one user and kind, which may not be alike.
APART: dict[TextKind, str] = {"answer": "options_apart", "question": "questions_apart"}
PLAIN_PROSE = "plain_prose"  # the asset check of a stage's texts
EXAMPLES = 3  # of a fault; a pattern shows in them
# A question is drafted without the choices that its variables have in the end; one of them in it is advice, as in the schema.
ADVICE_IN_THE_END = ("question", "no_copied_value")
Texts = Callable[..., Iterable[tuple[str, TextInContext]]]  # of a record, those read beside it, and the recipe


def drafted_question_texts(record: QuestionSet, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    for question in record.questions:
        yield question.question_id, question_in_context(question.text, choices_of(question), recipe=recipe)


def question_texts(record: Episode, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    for question in record.questions:
        choices = _choices_of(question.required_info, schema.choices)
        yield question.question_id, question_in_context(question.query, choices, recipe=recipe)


def profile_texts(record: UserProfile, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    yield "the paragraph", profile_in_context(record.complementary_info, recipe=recipe)


def summary_texts(record: StateTrajectory, profile: UserProfile, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    for period in record.periods:
        if period.summary:
            text = summary_in_context(period.summary, period, profile=profile, recipe=recipe)
            yield f"the summary of period {period.index}", text


def event_texts(record: EventSet, profile: UserProfile, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    for period in record.periods:
        for event in period.events:
            yield f"{event.text[:SHOWN]!r}", event_in_context(event, profile=profile, recipe=recipe)


def query_texts(
    record: SessionSet, profile: UserProfile, schema: StateSchema, recipe: AMemGymRecipe
) -> Iterator[tuple[str, TextInContext]]:
    for period in record.periods:
        for session in period.sessions:
            spoken_of = session.exposed_states | session.mentions
            day = session.session_time.date()
            text = query_in_context(session.query, spoken_of, day=day, profile=profile, choices=schema.choices, recipe=recipe)
            yield f"{session.query[:SHOWN]!r}", text


def answer_texts(record: AnswerSet, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[tuple[str, TextInContext]]:
    required = {question.question_id: question.required_info for question in schema.questions}
    for question in record.questions:
        choices = _choices_of(required.get(question.question_id, ()), schema.choices)
        for choice in question.choices:
            yield choice.choice_id, answer_in_context(choice.answer, choice.state, choices, recipe=recipe)


def _choices_of(variables: Iterable[str], choices: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the choices of all these variables, one variable after the other."""
    values: list[str] = []
    for name in variables:
        values += choices.get(name, ())
    return values


@dataclass(frozen=True)
class CheckedText:
    """A text, where it stands, and the checks that it fails, each with what is wrong."""

    where: str
    context: TextInContext
    faults: Sequence[tuple[TextCheck, str]]


class UserTexts:
    """Check a user's texts of one kind. The last user's are kept: the rules ask for them in turn, then the report's rates.

    `texts` is called with the record of the stage that writes them, those of the stages that it `reads`, and the recipe.
    """

    def __init__(self, kind: TextKind, texts: Texts, *reads: str) -> None:
        self.kind: TextKind = kind
        self.reads = reads
        self._texts = texts
        self._last: tuple[tuple[Any, ...], list[CheckedText]] = ((), [])

    def check(self, *records: Any) -> list[CheckedText]:
        last = self._last
        if last[0] != records:
            checked = [CheckedText(where, text, list(faults(text))) for where, text in self._texts(*records)]
            # At once: another thread may check another user's.
            last = self._last = (records, checked)
        return last[1]


PROFILES = UserTexts("profile", profile_texts)
DRAFTED_QUESTIONS = UserTexts("question", drafted_question_texts)
QUESTIONS = UserTexts("question", question_texts, "state_schema")
SUMMARIES = UserTexts("summary", summary_texts, "user_profiles")
EVENTS = UserTexts("event", event_texts, "user_profiles")
QUERIES = UserTexts("query", query_texts, "user_profiles", "state_schema")
ANSWERS = UserTexts("answer", answer_texts, "state_schema")
# All that was written of a finished user, by the stage whose record it stands in.
WRITTEN: Mapping[str, UserTexts] = {
    "episodes": QUESTIONS,
    "user_profiles": PROFILES,
    "answers": ANSWERS,
    "state_trajectory": SUMMARIES,
    "events": EVENTS,
    "session_queries": QUERIES,
}


def check_texts(records: RecordsOfItem, recipe: AMemGymRecipe) -> Iterator[CheckedText]:
    """Yield all texts that were written of a user, with what is wrong with each."""
    for stage, texts in WRITTEN.items():
        yield from texts.check(records[stage], *map(records.__getitem__, texts.reads), recipe)


def text_rules(noun: str, texts: UserTexts) -> tuple[Rule, ...]:
    """Return a rule for each check of these texts; `noun` begins the truth. One asset check shows them all."""
    rules: list[Rule] = []
    for check in CHECKS[texts.kind]:
        truth = f"{noun} {check.truth}."
        rules.append(Rule(check.name, truth, _finder(texts, [check]), check.blocking, texts.reads, check=PLAIN_PROSE))
    return tuple(rules)


def prose_rules(noun: str, texts: UserTexts) -> tuple[Rule, ...]:
    """Return one rule of all checks that block, for texts that no assistant is scored on."""
    checks = [check for check in CHECKS[texts.kind] if check.blocking]
    truth = (
        f"{noun} are plain prose in the recipe's language, without identifiers, placeholders or contact data, and tell "
        "nothing that lies after their day."
    )
    return (Rule(PLAIN_PROSE, truth, _finder(texts, checks), reads=texts.reads),)


def _finder(texts: UserTexts, checks: Collection[TextCheck]) -> Callable[..., Iterator[str]]:
    def find(*records: Any) -> Iterator[str]:
        for text in texts.check(*records):
            for check, fault in text.faults:
                if check in checks:
                    yield f"{text.where} {fault}"

    return find


def options_are_told_apart(record: AnswerSet, _: AMemGymRecipe) -> Iterator[str]:
    """Two options with nearly the same words have no right one among them."""
    for question in record.questions:
        for first, second in near_duplicates([choice.answer for choice in question.choices]):
            yield f"{question.choices[first].choice_id} and {question.choices[second].choice_id} share nearly all their words"


class TextCounter:
    """Count the texts of finished users that fail each check."""

    def __init__(self, recipe: AMemGymRecipe) -> None:
        self._recipe = recipe
        self._texts = Counter[str]()
        # By kind of text and check.
        self._faulty = Counter[tuple[str, str]]()
        self._users = Counter[tuple[str, str]]()
        self._examples: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, records: RecordsOfItem) -> None:
        """Count a user's texts. The records of what the episode tells of are enough, so any data set can be counted."""
        episode = cast(Episode, records["episodes"])
        seen = set[tuple[str, str]]()
        for text in check_texts(records, self._recipe):
            kind = text.context.kind
            self._texts[kind] += 1
            for check, fault in text.faults:
                self._count((kind, check.name), f"{episode.user_id}: {text.context.text[:SHOWN]!r} {fault}", seen)
        for question in episode.questions:
            answers = [choice.answer for choice in question.answer_choices]
            self._count_alike(answers, "answer", episode.user_id, seen)
        asked = [question.query for question in episode.questions]
        self._count_alike(asked, "question", episode.user_id, seen)

    def _count_alike(self, texts: Sequence[str], kind: TextKind, user_id: str, seen: set[tuple[str, str]]) -> None:
        """Count the texts that are like another; each counts once, however many others it is like."""
        for index in sorted(set(chain.from_iterable(near_duplicates(texts)))):
            self._count((kind, APART[kind]), f"{user_id}: {texts[index][:SHOWN]!r}", seen)

    def _count(self, key: tuple[str, str], example: str, seen: set[tuple[str, str]]) -> None:
        self._faulty[key] += 1
        self._users[key] += key not in seen
        seen.add(key)
        if len(self._examples[key]) < EXAMPLES:
            self._examples[key].append(example)

    def lines(self) -> Iterator[TextLine]:
        """Yield a line per kind of text and check, in that order."""
        for kind, checks in CHECKS.items():
            if not self._texts[kind]:
                continue
            for check in checks:
                blocks = check.blocking and (kind, check.name) != ADVICE_IN_THE_END
                yield self._line(kind, check.name, check.truth, blocking=blocks)
            if kind in APART:
                yield self._line(kind, APART[kind], "differ in more than a few words", blocking=True)

    def _line(self, kind: TextKind, name: str, truth: str, *, blocking: bool) -> TextLine:
        return TextLine(
            text=kind,
            check=name,
            truth=truth,
            blocking=blocking,
            texts=self._texts[kind],
            faulty=self._faulty[kind, name],
            users=self._users[kind, name],
            examples=tuple(self._examples[kind, name]),
        )
