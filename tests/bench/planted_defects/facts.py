"""Defects in lives of facts: one for each rule at least, for each gate, and for the checks of recipe and report.

The gates read what a user could have said by mistake, from a writer that mends nothing.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from assets.engine.ports import RunContext
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.base import ItemFailed, ItemRecord, Record
from assets.user_facts.matters import DRAFT, READ_PAIRS, draft_matters, voted_text
from assets.user_facts.pipeline import USER_FACTS
from assets.user_facts.questions import ask_about_life
from assets.user_facts.records import FactLife, FactMatter, FactQuestion, FactQuestions, FactSessions, FactStatement
from assets.user_facts.sessions import MAIL, READ, TELL, tell_life
from assets.user_facts.users import accept_user
from tests.bench.planted_defects.trial import Trial
from tests.support.applied_rules import apply_rules
from tests.support.embedded_model import EmbeddedModel
from tests.support.honest_replies import material
from tests.support.user_facts import MadeFacts, facts_recipe, make_facts
from validation.report.builder import SharedLines
from validation.user_facts.benchmark import USER_FACTS_VALIDATION
from validation.user_facts.report import UserFactsReportBuilder

Alarm = Callable[[Trial], Coroutine[Any, Any, bool]]
Plant = Callable[[MadeFacts], ItemRecord]
Change = Callable[[FactStatement], FactStatement | None]
R = TypeVar("R", bound=ItemRecord)
SET_USERS = 6  # of a report, which needs several for its intervals
_MADE: dict[int, MadeFacts] = {}


async def facts_at(site: int) -> MadeFacts:
    """Return the finished user of a site, made once."""
    if site not in _MADE:
        _MADE[site] = await make_facts(site, recipe=facts_recipe())
    return _MADE[site]


def changed(record: R, field: str, at: int, **changes: Any) -> R:
    """Return the record with another entry in one of its lists; unchecked, as a changed file would be."""
    entries: list[Record] = list(getattr(record, field))
    entries[at] = entries[at].model_copy(update=changes)
    return record.model_copy(update={field: tuple(entries)})


def place_of(sessions: Sequence[Any], shape: str) -> tuple[int, FactStatement]:
    """Return the number of the first session with a statement of the shape, and the statement."""
    for number, session in enumerate(sessions):
        for one in session.statements:
            if one.shape == shape:
                return number, one
    raise LookupError(f"No session has a statement of the shape {shape}.")


def _planned(made: MadeFacts, at: int, one: FactStatement) -> FactLife:
    return changed(made.life, "sessions", at, statements=(*made.life.sessions[at].statements, one))


def _rules_in_a_circle(made: MadeFacts) -> FactLife:
    _, rule = place_of(made.life.sessions, "rule")
    return _planned(made, -1, rule.model_copy(update={"matter": rule.other_matter, "other_matter": rule.matter}))


def _forgotten_fact_changes(made: MadeFacts) -> FactLife:
    at, one = place_of(made.life.sessions, "forget")
    return _planned(made, at + 1, one.model_copy(update={"shape": "replaced", "value": "X Bank"}))


def _mail_before_the_request(made: MadeFacts) -> FactLife:
    _, one = place_of(made.life.sessions, "refed")
    return _planned(made, 0, one)


def _sessions_swapped(made: MadeFacts) -> FactLife:
    first, second, *others = made.life.sessions
    return made.life.model_copy(update={"sessions": (second, first, *others)})


def _last_session_tells_a_fact(made: MadeFacts) -> FactLife:
    _, one = place_of(made.life.sessions, "told")
    return _planned(made, len(made.life.sessions) - 1, one)


def _is_plain(one: FactMatter) -> bool:
    return not (one.follows or one.like or one.coarse)


def _deciding(matters: Sequence[FactMatter]) -> str:
    return next(one.follows for one in matters if one.follows)


def _in_matters(
    which: Callable[[FactMatter], bool], change: Callable[[FactMatter, Sequence[FactMatter]], Mapping[str, Any]]
) -> Plant:
    """Return a plant that changes the last matter of which something holds, by what the others are."""

    def plant(made: MadeFacts) -> ItemRecord:
        matters = made.matters.matters
        at = max(number for number, one in enumerate(matters) if which(one))
        others = [one for number, one in enumerate(matters) if number != at]
        return changed(made.matters, "matters", at, **change(matters[at], others))

    return plant


def _in_words(shape: str, part: str, change: Callable[[str, FactStatement], str]) -> Plant:
    """Return a plant that changes a text of the first session with a statement of the shape."""

    def plant(made: MadeFacts) -> ItemRecord:
        at, one = place_of(made.sessions.sessions, shape)
        text = change(getattr(made.sessions.sessions[at], part), one)
        return changed(made.sessions, "sessions", at, **{part: text})

    return plant


def _in_question(which: Callable[[FactQuestion], bool], change: Callable[[FactQuestion], Mapping[str, Any]]) -> Plant:
    """Return a plant that changes the first question of which something holds."""

    def plant(made: MadeFacts) -> ItemRecord:
        at = next(number for number, one in enumerate(made.questions.questions) if which(one))
        return changed(made.questions, "questions", at, **change(made.questions.questions[at]))

    return plant


def _outcomes(**others: str) -> Callable[[FactQuestion], Mapping[str, Any]]:
    """Return a change of the outcome of one choice of each kind that is named."""

    def change(question: FactQuestion) -> Mapping[str, Any]:
        choices = list(question.choices)
        for old, new in others.items():
            at = next(number for number, one in enumerate(question.choices) if one.outcome == old)
            choices[at] = choices[at].model_copy(update={"outcome": new})
        return {"choices": tuple(choices)}

    return change


def _is_of(*kinds: str) -> Callable[[FactQuestion], bool]:
    return lambda question: question.kind in kinds


def _has_value(question: FactQuestion) -> bool:
    return bool(question.right.value) and any(one.outcome == "invented" for one in question.choices)


def _without_not_known(question: FactQuestion) -> Mapping[str, Any]:
    return {"choices": tuple(one for one in question.choices if one.value)}


def _session_after_the_certificate(made: MadeFacts) -> ItemRecord:
    return changed(made.user, "sessions", 0, message=f"{made.user.sessions[0].message} It rains.")


def _certificate_of_more(made: MadeFacts) -> ItemRecord:
    return changed(made.user, "outcomes", -1, right=made.user.outcomes[-1].right + 1)


# By stage and rule: each plant under what is wrong then.
IN_RECORDS: Mapping[tuple[str, str], Mapping[str, Plant]] = {
    ("facts_people", "one_row_per_user"): {"a user is there twice": lambda made: made.person},
    ("facts_matters", "matters_are_as_wanted"): {
        "a matter follows from itself": _in_matters(lambda one: bool(one.follows), lambda one, _: {"follows": one.label}),
        "a matter is missing": lambda made: made.matters.model_copy(update={"matters": made.matters.matters[:-1]}),
        "two matters have a label": _in_matters(_is_plain, lambda _, others: {"label": others[0].label}),
        "a form has no place for a name": _in_matters(_is_plain, lambda _, others: {"value": "the clinic"}),
        "three matters follow from one": _in_matters(_is_plain, lambda _, others: {"follows": _deciding(others)}),
    },
    ("facts_matters", "judges_read_the_links"): {
        "a matter follows from another one after the votes": _in_matters(
            lambda one: bool(one.follows), lambda _, others: {"follows": next(filter(_is_plain, others)).label}
        ),
    },
    ("facts_lives", "rules_make_no_circle"): {"two facts follow from each other": _rules_in_a_circle},
    ("facts_lives", "forgotten_is_not_spoken_of"): {
        "a forgotten fact changes": _forgotten_fact_changes,
        "a mail comes before the request": _mail_before_the_request,
    },
    ("facts_lives", "sessions_are_in_order"): {
        "two sessions are swapped": _sessions_swapped,
        "the last session tells a fact": _last_session_tells_a_fact,
    },
    ("facts_sessions", "texts_make_the_statements"): {
        "a message leaves a new value out": _in_words("replaced", "message", lambda _, one: f"My {one.label} has changed."),
        "a return tells the value": _in_words("as_before", "message", lambda text, one: f"{text} It is {one.unspoken[0]}."),
    },
    ("facts_sessions", "requests_name_no_value"): {
        "a request tells the value": _in_words("forget", "request", lambda text, one: f"{text} It was {one.unspoken[0]}."),
    },
    ("facts_sessions", "mails_tell_what_was_forgotten"): {
        "a mail lacks the value": _in_words("refed", "mail", lambda text, one: text.replace(one.value, "that")),
        "a mail is missing": _in_words("refed", "mail", lambda _, one: ""),
    },
    ("facts_sessions", "judges_read_them_back"): {
        "a message was reworded after its votes": _in_words("replaced", "message", lambda text, _: f"{text} It rains."),
        "a request was reworded after its votes": _in_words("forget", "request", lambda text, _: f"{text} It rains."),
    },
    ("facts_questions", "right_choices_follow"): {
        "another choice is called right": _in_question(_has_value, _outcomes(right="invented", invented="right")),
    },
    ("facts_questions", "outcomes_are_true"): {
        "a leak is called invented": _in_question(_is_of("deleted"), _outcomes(leaked="invented")),
        "what was never said is called stale": _in_question(_is_of("never_said"), _outcomes(invented="stale")),
        "what was never said is called a leak": _in_question(_is_of("never_said"), _outcomes(invented="leaked")),
    },
    ("facts_questions", "values_need_a_session"): {
        "a value needs no session": _in_question(_has_value, lambda _: {"needed": ()}),
    },
    ("facts_questions", "not_known_is_a_choice"): {
        "no choice says that it is not known": _in_question(_has_value, _without_not_known),
    },
    ("facts_questions", "words_follow_from_the_form"): {
        "the words tell the kind": _in_question(
            _is_of("never_said"), lambda one: {"text": f"Did I ever tell you my {one.matter}?"}
        ),
    },
    ("facts_users", "certificate_is_of_these_bytes"): {"a session changed later": _session_after_the_certificate},
    ("facts_users", "readers_answer_as_certified"): {"the certificate counts one more": _certificate_of_more},
}


def rule_alarm(stage: str, rule: str, plant: Plant) -> Alarm:
    """Whether the rule is broken by the site's user."""

    async def alarm(trial: Trial) -> bool:
        made = await facts_at(trial.site)
        rows = [plant(made) if trial.planted else made.records[stage][made.life.user_id]]
        if trial.planted and rule == "one_row_per_user":
            rows *= 2
        own = [one for one in USER_FACTS_VALIDATION.rules[stage] if one.name == rule]
        return not all(outcome.passed for outcome in apply_rules(own, rows, recipe=facts_recipe(), others=made.records))

    return alarm


@dataclass(frozen=True)
class StubbornWriter:
    """Writes the same text for whatever has statements, and reads as the embedded model does, but for an error now and then.

    `small_talk`: it writes it for what has no statements, too.
    """

    text: str
    error: float
    small_talk: bool = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await EmbeddedModel().complete(request)
        if request.labels.prompt == MAIL:
            return replace(reply, text=json.dumps({"mail": self.text}))
        if request.labels.prompt == TELL and (self.small_talk or material(request, "statements")):
            return replace(reply, text=json.dumps({"message": self.text}))
        if request.labels.prompt == DRAFT:
            return replace(reply, text=self.text)
        rng = SeededRandom("judge", request.seed, request.sample, self.text)
        if request.labels.prompt == READ_PAIRS and rng.bernoulli(self.error):
            relations: dict[str, str] = json.loads(reply.text)
            relations[rng.choice(sorted(relations))] = rng.choice(["first", "second", "same"])
            return replace(reply, text=json.dumps(relations))
        if request.labels.prompt == READ and rng.bernoulli(self.error):
            reading: dict[str, str] = json.loads(reply.text)
            number = rng.choice(sorted(material(request, "matters")))
            reading[number] = "withdrawn" if reading.get(number) != "withdrawn" else "as_before"
            return replace(reply, text=json.dumps(reading))
        return reply


def _said_as(shape: str) -> Change:
    """Return a change to another shape, without what only the old one has."""
    return lambda one: one.model_copy(update={"shape": shape, "until": None, "other": "", "unspoken": ()})


def _with_an_old_value(one: FactStatement) -> FactStatement:
    return one.model_copy(update={"shape": "replaced", "value": one.unspoken[0], "unspoken": ()})


def _with_another_value(one: FactStatement) -> FactStatement:
    return one.model_copy(update={"value": "the Xyl Palace"})


def _with_cases_swapped(one: FactStatement) -> FactStatement:
    first, second, *others = one.cases
    swapped = (first.model_copy(update={"then": second.then}), second.model_copy(update={"then": first.then}))
    return one.model_copy(update={"cases": (*swapped, *others)})


# What is said instead of a statement: its shape, and how it is changed; None leaves it out.
IN_SPEECH: Mapping[str, tuple[str, Change]] = {
    "a statement is left out": ("told", lambda _: None),
    "another value is told": ("told", _with_another_value),
    "a change is told as if nothing had been before": ("replaced", _said_as("told")),
    "what is more exact is told as a change": ("narrowed", _said_as("replaced")),
    "an end is left out": ("until", _said_as("told")),
    "what was mistaken is as before": ("withdrawn", _said_as("as_before")),
    "what is as before was mistaken": ("as_before", _said_as("withdrawn")),
    "a return tells the value": ("as_before", _with_an_old_value),
    "what is somebody else's is the user's": ("other", _said_as("told")),
    "two facts are one, and it is told as a change": ("merged", _said_as("replaced")),
    "a rule has its cases swapped": ("rule", _with_cases_swapped),
    "a request takes back and forgets nothing": ("forget", _said_as("withdrawn")),
    "a request tells the value": ("forget", _with_an_old_value),
    "a mail tells another value": ("refed", _with_another_value),
}


def speech_alarm(shape: str, change: Change) -> Alarm:
    """Whether a session is given up of which every writing says the same."""

    async def alarm(trial: Trial) -> bool:
        life = (await facts_at(trial.site)).life
        at, one = place_of(life.sessions, shape)
        statements = [one]
        if shape not in ("forget", "refed"):
            statements = [other for other in life.sessions[at].statements if other.shape not in ("forget", "refed")]
        text = await _text_of(life, at, [change(other) if trial.planted and other is one else other for other in statements])
        own = _only_session(life, at, statements)
        return await _is_given_up(tell_life(own, recipe=_recipe(trial), model=StubbornWriter(text, trial.settings.judge_error)))

    return alarm


def unplanned_alarm(*, small_talk: bool) -> Alarm:
    """Whether a session is given up that tells one fact more than was planned."""

    async def alarm(trial: Trial) -> bool:
        life = (await facts_at(trial.site)).life
        at, _ = place_of(life.sessions, "told")
        statements: list[FactStatement] = []
        if not small_talk:
            statements = [one for one in life.sessions[at].statements if one.shape not in ("forget", "refed")]
        text = await _text_of(life, at, statements)
        if trial.planted:
            text += f" My {life.labels[life.unsaid[0]]} is the Xyl Palace."
        writer = StubbornWriter(text, trial.settings.judge_error, small_talk=small_talk)
        return await _is_given_up(tell_life(_only_session(life, at, statements), recipe=_recipe(trial), model=writer))

    return alarm


def _only_session(life: FactLife, at: int, statements: Sequence[FactStatement]) -> FactLife:
    session = life.sessions[at].model_copy(update={"statements": tuple(statements)})
    return life.model_copy(update={"sessions": (session,)})


async def _text_of(life: FactLife, at: int, statements: Sequence[FactStatement | None]) -> str:
    """Return the words in which the embedded model says so."""
    said = [one for one in statements if one is not None]
    told = await tell_life(_only_session(life, at, said), recipe=facts_recipe(), model=EmbeddedModel())
    [session] = told.sessions
    return session.request or session.mail or session.message


def _last_that_follows(made: MadeFacts) -> FactMatter:
    return [one for one in made.matters.matters if one.follows][-1]


def _with_fields(made: MadeFacts, fields: Mapping[str, Mapping[str, str]]) -> list[FactMatter]:
    """Return the matters with other fields, by label."""
    return [one.model_copy(update=dict(fields.get(one.label, {}))) for one in made.matters.matters]


def _decided_by_another(made: MadeFacts) -> list[FactMatter]:
    plain = next(filter(_is_plain, made.matters.matters[::-1]))
    return _with_fields(made, {_last_that_follows(made).label: {"follows": plain.label}})


def _turned_around(made: MadeFacts) -> list[FactMatter]:
    one = _last_that_follows(made)
    return _with_fields(made, {one.label: {"follows": ""}, one.follows: {"follows": one.label}})


def _alike_to_another(made: MadeFacts) -> list[FactMatter]:
    plain = next(filter(_is_plain, made.matters.matters[::-1]))
    one = next(one for one in made.matters.matters if one.like)
    return _with_fields(made, {one.label: {"like": plain.label}, plain.label: {"value": one.value}})


IN_LINKS: Mapping[str, Callable[[MadeFacts], list[FactMatter]]] = {
    "a matter follows from what does not decide it": _decided_by_another,
    "a link is turned around": _turned_around,
    "two different things may be the same": _alike_to_another,
}


def link_alarm(change: Callable[[MadeFacts], list[FactMatter]]) -> Alarm:
    """Whether a user is given up for whom every list of matters has the same wrong link."""

    async def alarm(trial: Trial) -> bool:
        made = await facts_at(trial.site)
        matters = change(made) if trial.planted else list(made.matters.matters)
        writer = StubbornWriter(voted_text(matters), trial.settings.judge_error)
        return await _is_given_up(draft_matters(made.person, recipe=_recipe(trial), model=writer))

    return alarm


async def _is_given_up(stage: Awaitable[object]) -> bool:
    try:
        await stage
    except ItemFailed:
        return True
    return False


def _recipe(trial: Trial) -> UserFactsRecipe:
    return facts_recipe(gates=trial.settings.gates)


async def lost_value(trial: Trial) -> bool:
    """Whether no question is asked of a life whose text lacks a value."""
    made = await facts_at(trial.site)
    told = IN_RECORDS["facts_sessions", "texts_make_the_statements"]["a message leaves a new value out"](made)
    sessions = FactSessions.model_validate(told) if trial.planted else made.sessions
    return await _is_given_up(ask_about_life(made.life, sessions, recipe=_recipe(trial), model=EmbeddedModel()))


async def wrong_answer(trial: Trial) -> bool:
    """Whether a user is given up of whom another choice is called right."""
    made = await facts_at(trial.site)
    other = IN_RECORDS["facts_questions", "right_choices_follow"]["another choice is called right"](made)
    questions = cast(FactQuestions, other) if trial.planted else made.questions
    return await _is_given_up(
        accept_user(made.matters, made.life, made.sessions, questions, recipe=_recipe(trial), model=EmbeddedModel())
    )


async def below_guessing(trial: Trial) -> bool:
    """Whether a recipe is refused whose limit on guesses is below what one gives."""
    try:
        facts_recipe(max_not_known=0.24 - trial.site / 1000 if trial.planted else 0.25 + trial.site / 1000)
    except ValidationError:
        return True
    return False


async def not_known_pays(trial: Trial) -> bool:
    """Whether a set is found in which always saying that it is not known is right in most questions."""
    builder = UserFactsReportBuilder(facts_recipe(), items=SET_USERS, benchmark=USER_FACTS)
    for site in range(trial.site, trial.site + SET_USERS):
        user = (await facts_at(site)).user
        unknown = [one for one in user.questions if not one.right.value]
        kept = (*unknown, *user.questions[:2]) if trial.planted else user.questions
        builder.add({"facts_users": user.model_copy(update={"questions": kept})})
    report = await builder.report(SharedLines(), run_context=cast(RunContext, None), problems=[])
    return bool(report.exceeded_limits)


def _alarms() -> dict[str, Alarm]:
    found: dict[str, Alarm] = {}
    for (stage, rule), plants in IN_RECORDS.items():
        found |= {f"facts, {rule}: {what}": rule_alarm(stage, rule, plant) for what, plant in plants.items()}
    found |= {f"facts, drafted: {what}": link_alarm(change) for what, change in IN_LINKS.items()}
    found |= {f"facts, said: {what}": speech_alarm(*plant) for what, plant in IN_SPEECH.items()}
    return {
        **found,
        "facts, said: a fact more is told": unplanned_alarm(small_talk=False),
        "facts, said: small talk tells a fact": unplanned_alarm(small_talk=True),
        "facts, asked: a text lacks a value": lost_value,
        "facts, accepted: another choice is called right": wrong_answer,
        "facts, recipe: a limit is below what guessing gives": below_guessing,
        "facts, report: saying that it is not known pays": not_known_pays,
    }


ALARMS: dict[str, Alarm] = _alarms()
