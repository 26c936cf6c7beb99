"""Stage `facts_questions`: questions about a life's facts, whose choices tell a right answer from a stale or invented one.

A question's words follow from its form alone, so that nobody reads from them whether the fact holds, ended or was never told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.relations import spoken
from assets.recipe.user_facts import CHOICES, UserFactsRecipe
from assets.records.base import ItemFailed
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.words import spells
from assets.user_facts.lives import FACTS_LIVES
from assets.user_facts.records import (
    FactChoice,
    FactLife,
    FactQuestion,
    FactQuestions,
    FactSession,
    FactSessions,
    FactStatement,
    Outcome,
    QuestionForm,
    QuestionKind,
    Shape,
)
from assets.user_facts.sessions import FACTS_SESSIONS
from assets.user_facts.states import COURSE_SEPARATOR, Dated, course_of, state_on

NOT_KNOWN = "That is not known."
PAST_SHAPES = ("replaced", "until")  # facts that are asked about for days gone by; one that was mistaken never held
WORDINGS: Mapping[QuestionForm, tuple[str, ...]] = {
    "now": ("What is my {label} now?", "As of today, what is my {label}?"),
    "on_day": ("What was my {label} on {day}?",),
    "over_time": ("What has my {label} been over time, from the first to the last?",),
    "premise": ("My {label} is still {premise}, is it not?",),
}


@dataclass(frozen=True)
class Reader:
    """Somebody who knows what these sessions say, and answers by it."""

    sessions: Sequence[Dated]
    last_day: date

    def answer(self, question: FactQuestion) -> FactChoice:
        """Return the choice that says what the reader knows; what is no choice is not known."""
        return choice_of(question, self.known_value(question.matter, question.form, question.day))

    def known_value(self, matter: str, form: QuestionForm, day: date | None) -> str:
        """Return what the reader knows of a fact, "" where it is nothing."""
        if form == "over_time":
            return COURSE_SEPARATOR.join(course_of(self.sessions, matter))
        return state_on(self.sessions, day or self.last_day).get(matter, "")


def choice_of(question: FactQuestion, value: str) -> FactChoice:
    """Return the choice with this value, else the one that says that it is not known."""
    unknown = next(choice for choice in question.choices if not choice.value)
    return next((choice for choice in question.choices if choice.value == value), unknown)


def dated_sessions(sessions: Iterable[FactSession]) -> list[Dated]:
    """Return what readers of the final texts find: each statement whose words and values stand there."""
    found: list[Dated] = []
    for session in sessions:
        statements: list[FactStatement] = []
        for statement in session.statements:
            text = session.text_of(statement)
            if all(spells(text, word) for word in (statement.label, *statement.spoken_values)):
                statements.append(statement)
        found.append(Dated(session.at.date(), statements))
    return found


async def ask_about_life(life: FactLife, told: FactSessions, *, recipe: UserFactsRecipe, model: LanguageModel) -> FactQuestions:
    """Make all questions; no model is asked. Raises ItemFailed where the texts do not tell what was planned."""
    for number, (planned, found) in enumerate(zip(life.sessions, dated_sessions(told.sessions), strict=True)):
        if tuple(found.statements) != planned.statements:
            raise ItemFailed("rule_violated", f"The texts of session {number} do not tell what was planned.")
    questions = tuple(_Questions(life, told, recipe).all())
    return FactQuestions(user_id=life.user_id, questions=questions)


@dataclass(frozen=True)
class _Asked:
    """What a question asks, what is right, and wrong values with their outcomes."""

    matter: str
    kind: QuestionKind
    form: QuestionForm
    right: str
    wrong: Sequence[tuple[str, Outcome]]
    day: date | None = None
    premise: str = ""


class _Questions:
    """Makes the questions about one life."""

    def __init__(self, life: FactLife, told: FactSessions, recipe: UserFactsRecipe) -> None:
        self._life = life
        self._dated = dated_sessions(told.sessions)
        self._last_day = told.sessions[-1].at.date()
        self._everything = Reader(self._dated, self._last_day)
        self._path = (recipe.world_seed, life.user_id, "questions")
        self._own: dict[str, list[tuple[int, FactStatement]]] = {}
        self._others: dict[str, str] = {}
        for number, session in enumerate(life.sessions):
            for statement in session.statements:
                if statement.shape == "other":
                    self._others[statement.matter] = statement.value
                else:
                    self._own.setdefault(statement.matter, []).append((number, statement))

    def all(self) -> Iterator[FactQuestion]:
        """Yield the questions, fact by fact."""
        # Premises that hold, and that do not, in turn.
        holding: list[FactQuestion] = []
        failing: list[FactQuestion] = []
        for matter, own in self._own.items():
            shapes = [statement.shape for _, statement in own]
            if "forget" in shapes:
                yield self._now(matter, "deleted")
                continue
            yield self._now(matter, "consequence" if "rule" in shapes else "current")
            rng = SeededRandom(*self._path, matter)
            if any(shape in shapes for shape in PAST_SHAPES):
                yield self._on_day(matter, rng)
            if len(course_of(self._dated, matter)) > 1 and not {"narrowed", "rule"} & set(shapes):
                yield self._over_time(matter)
            if rng.bernoulli(0.5) and "rule" not in shapes:
                asked = self._with_premise(matter, holds=len(holding) <= len(failing))
                (holding if asked.kind == "true_premise" else failing).append(asked)
                yield asked
        for matter in self._life.unsaid:
            yield self._now(matter, "never_said")

    def _now(self, matter: str, kind: QuestionKind) -> FactQuestion:
        right = self._everything.known_value(matter, "now", None)
        had = [value for value in self._past_values(matter) if value != right]
        wrong: list[tuple[str, Outcome]] = [(value, "leaked" if kind == "deleted" else "stale") for value in had[-1:]]
        for _, statement in self._own.get(matter, ()):
            # All that the rule may give, so that whoever knows the rule alone has to guess.
            others = [case.then for case in statement.cases if case.then not in (right, *had[-1:])]
            for value in others[: CHOICES - 1 - len(wrong) - bool(right)]:
                wrong.append((value, "invented"))
        return self._question(_Asked(matter, kind, "now", right, wrong))

    def _on_day(self, matter: str, rng: SeededRandom) -> FactQuestion:
        """Ask for a day between two sessions, after the fact was told and before the life ends."""
        first, _ = self._own[matter][0]
        days = [session.at.date() for session in self._life.sessions[first:-1]]
        day = rng.choice(days)
        right = self._everything.known_value(matter, "on_day", day)
        stale = [value for value in self._past_values(matter) if value != right]
        wrong: list[tuple[str, Outcome]] = [(value, "stale") for value in stale[-1:]]
        return self._question(_Asked(matter, "at_time", "on_day", right, wrong, day=day))

    def _over_time(self, matter: str) -> FactQuestion:
        course = course_of(self._dated, matter)
        other = [*course[:-1], self._others[matter]]
        turned = [*course[1:], course[0]] if len(set(course)) > 2 else [course[-1], *course[:-1]]
        if len(course) > 2 and course[-1] == course[0]:
            turned = [course[1], course[0], course[1]]
        invented = SeededRandom(*self._path, matter, "course").choice([other, turned])
        texts: list[tuple[Sequence[str], Outcome]] = [(course[:-1], "stale"), (invented, "invented")]
        wrong: list[tuple[str, Outcome]] = [(COURSE_SEPARATOR.join(values), outcome) for values, outcome in texts]
        return self._question(_Asked(matter, "course", "over_time", COURSE_SEPARATOR.join(course), wrong))

    def _with_premise(self, matter: str, *, holds: bool) -> FactQuestion:
        """Ask with a value that holds, where there is one, or one that does not: one of before, or one of somebody else."""
        right = self._everything.known_value(matter, "now", None)
        had = [value for value in self._past_values(matter) if value != right]
        other = had[-1] if had else self._others[matter]
        outcome: Outcome = "stale" if had else "invented"
        wrong: list[tuple[str, Outcome]] = [(other, outcome)]
        kind: QuestionKind = "true_premise" if holds and right else "false_premise"
        premise = right if kind == "true_premise" else other
        return self._question(_Asked(matter, kind, "premise", right, wrong, premise=premise))

    def _past_values(self, matter: str) -> list[str]:
        """Return the values that a fact has had, one that follows from another the values for what that has had."""
        found = course_of(self._dated, matter)
        for _, statement in self._own.get(matter, ()):
            if statement.shape == "rule":
                decided = self._past_values(statement.other_matter)
                found = [case.then for value in decided for case in statement.cases if case.given == value]
            elif statement.value and statement.value not in found:
                found.append(statement.value)
        return found

    def _question(self, wanted: _Asked) -> FactQuestion:
        """Return the question. Raises ItemFailed where a reader of everything answers something else."""
        matter = wanted.matter
        kind = wanted.kind
        own = self._own.get(matter, [])
        changed = len([statement for _, statement in own if statement.shape not in ("told", "until", "rule", "refed")])
        wording = SeededRandom(*self._path, matter, kind, "wording").choice(WORDINGS[wanted.form])
        day = spoken(wanted.day) if wanted.day else ""
        asked = FactQuestion(
            question_id=f"{matter}-{kind}",
            kind=kind,
            form=wanted.form,
            matter=matter,
            text=wording.format(label=self._life.labels[matter], day=day, premise=wanted.premise),
            day=wanted.day,
            premise=wanted.premise,
            choices=self._choices(wanted),
            needed=(),
            bearing=self._bearing_sessions(matter),
            age=self._age(matter),
            last_change=self._last_change(matter),
            changes=self._changes_of_decider(matter) if kind == "consequence" else changed,
            forgotten_at=next((number for number, statement in own if statement.shape == "forget"), None),
            refed_at=next((number for number, statement in own if statement.shape == "refed"), None),
        )
        found = self._everything.answer(asked)
        if found.outcome != "right":
            raise ItemFailed("rule_violated", f"A reader of everything answers {asked.text!r} with {found.text!r}.")
        return asked.model_copy(update={"needed": self._needed_sessions(asked)})

    def _choices(self, wanted: _Asked) -> tuple[FactChoice, ...]:
        """Return the choices in an order by chance, one of which says that it is not known."""
        valued: list[tuple[str, Outcome]] = list(wanted.wrong)
        if wanted.right:
            valued.append((wanted.right, "right"))
        used = {value for value, _ in valued}
        # Somebody else's value is as familiar as the user's own; a value that nobody has is not.
        for value in (self._others[wanted.matter], *self._life.spare[wanted.matter]):
            if len(valued) < CHOICES - 1 and value not in used:
                valued.append((value, "invented"))
        valued.append(("", "not_known" if wanted.right else "right"))
        choices: list[FactChoice] = []
        for value, outcome in SeededRandom(*self._path, wanted.matter, wanted.kind, "choices").shuffled(valued):
            text = choice_text(value, wanted.form, premise=wanted.premise)
            choices.append(FactChoice(choice_id=f"c{len(choices) + 1}", text=text, value=value, outcome=outcome))
        return tuple(choices)

    def _needed_sessions(self, asked: FactQuestion) -> tuple[int, ...]:
        """Return the sessions that are each needed: without one of them a reader of all others answers otherwise."""
        found: list[int] = []
        for number in asked.bearing:
            others = [session for place, session in enumerate(self._dated) if place != number]
            if Reader(others, self._last_day).answer(asked).outcome != "right":
                found.append(number)
        return tuple(found)

    def _bearing_sessions(self, matter: str) -> tuple[int, ...]:
        numbers: set[int] = set()
        for number, statement in self._own.get(matter, ()):
            numbers.add(number)
            if statement.shape == "rule":
                numbers.update(self._bearing_sessions(statement.other_matter))
        return tuple(sorted(numbers))

    def _age(self, matter: str) -> int:
        bearing = [number for number in self._bearing_sessions(matter) if not self._is_refed(matter, number)]
        return len(self._life.sessions) - 1 - bearing[-1] if bearing else 0

    def _last_change(self, matter: str) -> Shape | None:
        own = [statement for _, statement in self._own.get(matter, ()) if statement.shape != "refed"]
        return own[-1].shape if own else None

    def _is_refed(self, matter: str, number: int) -> bool:
        return any(at == number and statement.shape == "refed" for at, statement in self._own.get(matter, ()))

    def _changes_of_decider(self, matter: str) -> int:
        """Return how often the fact changed that decides this one in the end."""
        [rule] = [statement for _, statement in self._own[matter] if statement.shape == "rule"]
        decides = self._own[rule.other_matter]
        if any(statement.shape == "rule" for _, statement in decides):
            return self._changes_of_decider(rule.other_matter)
        return len([statement for _, statement in decides if statement.shape != "told"])


def choice_text(value: str, form: QuestionForm, *, premise: str) -> str:
    """Return the words of an answer."""
    if form != "premise":
        text = value or NOT_KNOWN
    elif not value:
        text = "No, and it is not known what it is."
    else:
        text = f"Yes, it is {value}." if value == premise else f"No, it is {value}."
    return text


FACTS_QUESTIONS = Stage(
    name="facts_questions",
    version=2,
    record=FactQuestions,
    make=ask_about_life,
    needs=(FACTS_LIVES, FACTS_SESSIONS),
    description=AssetDescription(
        group="lives",
        description="Questions of eight kinds about each user's facts. A choice is right, stale, invented, leaked, or says "
        "that it is not known. Which sessions a question needs is found by leaving each out.",
        rows=preview_rows("questions", "kind question=text right=right.text age changes"),
        paper="MemGym",
    ),
)
