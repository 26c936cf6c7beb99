"""Stage `facts_users`: the accepted users, with what programs answer that read the final sessions in whole or in part."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.base import ItemFailed
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.reporting.plurals import counted
from assets.user_facts.lives import FACTS_LIVES
from assets.user_facts.matters import FACTS_MATTERS
from assets.user_facts.questions import FACTS_QUESTIONS, Reader, choice_of, dated_sessions
from assets.user_facts.records import (
    FactChoice,
    FactLife,
    FactMatters,
    FactQuestion,
    FactQuestions,
    FactSession,
    FactSessions,
    FactUser,
    ReaderOutcome,
)
from assets.user_facts.sessions import FACTS_SESSIONS
from assets.user_facts.states import COURSE_SEPARATOR, SETS_VALUE, Dated

EVERYTHING = "everything"
NOTHING = "nothing: always not known"
LATEST_MENTION = "the latest mention wins"
FIRST_MENTION = "the first mention wins"


async def accept_user(
    drafted: FactMatters,
    life: FactLife,
    told: FactSessions,
    asked: FactQuestions,
    *,
    recipe: UserFactsRecipe,
    model: LanguageModel,
) -> FactUser:
    """Return the user with its certificate. Raises ItemFailed where a reader of everything is wrong anywhere."""
    outcomes = outcomes_of(told.sessions, asked.questions)
    for outcome in outcomes:
        if outcome.reader == EVERYTHING and outcome.right < outcome.questions:
            wrong = outcome.questions - outcome.right
            raise ItemFailed(
                "rule_violated", f"A reader of everything is wrong on {counted(wrong, 'question')} of the kind {outcome.group}."
            )
    return FactUser(
        user_id=life.user_id,
        name=life.name,
        matters=drafted.matters,
        sessions=told.sessions,
        questions=asked.questions,
        digest=certified_bytes(told.sessions, asked.questions),
        outcomes=outcomes,
    )


def certified_bytes(sessions: Sequence[FactSession], questions: Sequence[FactQuestion]) -> str:
    """Return the sha256 of what the outcomes are of."""
    lines = [*(session.model_dump_json() for session in sessions), *(question.model_dump_json() for question in questions)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def outcomes_of(sessions: Sequence[FactSession], questions: Sequence[FactQuestion]) -> tuple[ReaderOutcome, ...]:
    """Return what each reader answers, by kind of question."""
    found: list[ReaderOutcome] = []
    for reader, answer in _readers(sessions).items():
        asked = Counter(question.group for question in questions)
        right = Counter(question.group for question in questions if answer(question).outcome == "right")
        for group in sorted(asked):
            found.append(ReaderOutcome(reader=reader, group=group, questions=asked[group], right=right[group]))
    return tuple(found)


def _readers(sessions: Sequence[FactSession]) -> Mapping[str, Callable[[FactQuestion], FactChoice]]:
    dated = dated_sessions(sessions)
    last = dated[-1].day
    mentions = list(_mentions(dated))
    return {
        EVERYTHING: Reader(dated, last).answer,
        NOTHING: Reader([], last).answer,
        LATEST_MENTION: lambda question: _mentioned_choice(question, mentions),
        FIRST_MENTION: lambda question: _mentioned_choice(question, mentions[::-1]),
    }


def _mentions(dated: Sequence[Dated]) -> Iterator[tuple[str, str]]:
    """Yield each matter and value that is mentioned as the user's, in order, whatever is said of it."""
    for session in dated:
        for statement in session.statements:
            if statement.shape in SETS_VALUE or statement.shape == "refed":
                yield statement.matter, statement.value
            for case in statement.cases:
                yield statement.matter, case.then


def _mentioned_choice(question: FactQuestion, mentions: Sequence[tuple[str, str]]) -> FactChoice:
    own = [value for matter, value in mentions if matter == question.matter]
    if question.form == "over_time":
        return choice_of(question, COURSE_SEPARATOR.join(dict.fromkeys(own)))
    return choice_of(question, own[-1] if own else "")


FACTS_USERS = Stage(
    name="facts_users",
    version=2,
    record=FactUser,
    make=accept_user,
    needs=(FACTS_MATTERS, FACTS_LIVES, FACTS_SESSIONS, FACTS_QUESTIONS),
    description=AssetDescription(
        group="lives",
        description="The accepted users: sessions, questions, and answers of programs that read everything or "
        "nothing, or believe the latest or the first mention. They are the rows of a release.",
        rows=preview_rows("outcomes", "user=name reader kind=group right questions"),
        paper="MemGym",
    ),
)
