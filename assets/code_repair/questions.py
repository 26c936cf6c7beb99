"""Questions with keys about the sessions of a repair: a decision, a failed path, a convention, and what is still so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from assets.code_qa.questions import RULE
from assets.code_qa.records.questions import CodeDocuments
from assets.code_qa.team.relations import RULING
from assets.code_repair.records import Form, RepairTask, SessionQuestion
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import ItemDocument, SizedItem, Turn
from assets.memory_items.facts import Fact
from assets.memory_items.questions import answer_elsewhere
from assets.memory_items.tasks import MemoryTask, TaskLengths
from assets.memory_items.turns import documents_in_view
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.answers import TypedAnswer
from assets.text.words import folded

ABOUT_TICKETS: tuple[Form, ...] = ("decision", "failed_path", "still_so")
CONVENTIONS = frozenset(("exempt", "input_limit", "owner", "removal", "successor", "wrapper"))
AS_WRITTEN = "Give the assertion as it is written there."
FAILED_PATH = "Which assertion is named as what {ticket} settles, although another one counts?"
STILL_SO = "A session says that {ticket} settles `{rule}`. Is that what counts, yes or no?"
FAILED_PATH_ASKED = re.compile(re.escape(FAILED_PATH).replace(r"\{ticket\}", r"(?P<ticket>\S+)"))
STILL_SO_ASKED = re.compile(
    re.escape(STILL_SO).replace(r"\{ticket\}", r"(?P<ticket>\S+)").replace(r"\{rule\}", "(?P<rule>.+?)")
)


class AskedRule(NamedTuple):
    """What a question asks of a ticket: whether this rule counts; of none, which rule does not."""

    ticket: str
    rule: str


def read_session_question(question: str) -> AskedRule | None:
    """Return what a question asks of a ticket's rules; None where it asks something else."""
    still_so = STILL_SO_ASKED.match(question)
    if still_so:
        return AskedRule(still_so["ticket"], still_so["rule"])
    failed_path = FAILED_PATH_ASKED.match(question)
    return AskedRule(failed_path["ticket"], "") if failed_path else None


def session_questions(
    sessions: CodeDocuments, lengths: TaskLengths, *, recipe: DocumentTaskRecipe
) -> tuple[SessionQuestion, ...]:
    """Return a question of each form for which the sessions suffice, about different tickets where there are enough."""
    rng = SeededRandom(recipe.world_seed, sessions.task_id, "session questions")
    told = _told(sessions, lengths, recipe)
    tickets = rng.shuffled([facts for (_, relation), facts in told.items() if relation == RULING.name and len(facts) == 2])
    questions: list[SessionQuestion] = []
    for number, form in enumerate(ABOUT_TICKETS if tickets else ()):
        questions.append(_about_ticket(form, tickets[number % len(tickets)], says_so=rng.bernoulli(0.5)))
    conventions = [facts for (_, relation), facts in told.items() if relation in CONVENTIONS and len(facts) == 1]
    if conventions:
        questions.append(_about_convention(rng.choice(conventions)[0]))
    return tuple(questions)


def _told(
    sessions: CodeDocuments, lengths: TaskLengths, recipe: DocumentTaskRecipe
) -> Mapping[tuple[str, str], Sequence[Fact]]:
    """Return by subject and relation what the task's own sessions alone tell, what counts first, and no two alike in weight.

    A fact in the turns that are in view at the end needs no memory.
    """
    in_view: set[str] = set()
    for sized in lengths.lengths:
        in_view.update(document.document_id for document in documents_in_view(sized.turns, recipe.eviction))
    elsewhere = set(_told_in_filler(sessions))
    documents = [*sessions.documents, *sessions.filler]
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in sessions.facts:
        groups.setdefault((folded(fact.subject), fact.relation), []).append(fact)
    told: dict[tuple[str, str], Sequence[Fact]] = {}
    for key, facts in groups.items():
        distinct = len({fact.weight for fact in facts}) == len({fact.value for fact in facts}) == len(facts)
        hidden = in_view.isdisjoint(fact.document_id for fact in facts)
        is_repeated = any(list(answer_elsewhere([fact], documents)) for fact in facts)
        if distinct and hidden and key not in elsewhere and not is_repeated:
            told[key] = sorted(facts, key=lambda fact: fact.weight, reverse=True)
    return told


def _told_in_filler(sessions: CodeDocuments) -> Iterator[tuple[str, str]]:
    for document in sessions.filler:
        for placed in document.statements:
            yield folded(placed.statement.subject), placed.statement.relation


def _about_ticket(form: Form, facts: Sequence[Fact], *, says_so: bool) -> SessionQuestion:
    """Return a question about a ticket's two rules. `says_so`: whether "is that what counts" names the one that does."""
    counts, other = facts
    if form == "decision":
        answer = TypedAnswer(kind="code", value=counts.value, near_misses=(other.value,))
        return _question(form, f"What is {counts.asked}?", answer, (counts,))
    if form == "failed_path":
        answer = TypedAnswer(kind="code", value=other.value, near_misses=(counts.value,))
        return _question(form, FAILED_PATH.format(ticket=counts.subject), answer, facts)
    named = counts if says_so else other
    answer = TypedAnswer(kind="option", value="yes" if says_so else "no", options=("yes", "no"))
    return _question(form, STILL_SO.format(ticket=named.subject, rule=named.value), answer, facts)


def _about_convention(fact: Fact) -> SessionQuestion:
    word = "Who" if fact.relation == "owner" else "What"
    answer = TypedAnswer(kind=fact.kind, value=fact.value)
    return _question("convention", f"{word} is {fact.asked}?", answer, (fact,))


def _question(form: Form, asked: str, answer: TypedAnswer, hops: Sequence[Fact]) -> SessionQuestion:
    rules = f"{RULE} {AS_WRITTEN}" if answer.kind == "code" else RULE
    return SessionQuestion(form=form, question=f"{asked} {rules}", answer=answer, hops=tuple(hops))


def tasks_of_questions(task: RepairTask) -> Iterator[MemoryTask]:
    """Yield each question of a repair as a task over the same sessions, named by the repair and the question's form."""
    for asked in task.questions:
        lengths = [_needed_for(sized, asked) for sized in task.lengths]
        yield MemoryTask(
            task_id=f"{task.task_id}-{asked.form}",
            question=asked.question,
            answer=asked.answer,
            hops=asked.hops,
            eviction=task.eviction,
            lengths=tuple(lengths),
            certificates=task.certificates,
        )


def _needed_for(sized: SizedItem, asked: SessionQuestion) -> SizedItem:
    """Return the sessions with the labels that they have for this question: those that tell its facts are its support."""
    turns: list[Turn] = []
    for turn in sized.turns:
        documents: list[ItemDocument] = []
        for document in turn.documents:
            facts = tuple(fact.fact_id for fact in asked.hops if fact.document_id == document.document_id)
            role = "support" if facts else "filler" if document.role == "filler" else "sibling"
            documents.append(document.model_copy(update={"facts": facts, "role": role}))
        turns.append(turn.model_copy(update={"documents": tuple(documents)}))
    return sized.model_copy(update={"turns": tuple(turns)})
