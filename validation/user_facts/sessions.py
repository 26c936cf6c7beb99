"""Rules about sessions in words: what was planned is said, no more, and enough judges read it back."""

from collections.abc import Iterator

from assets.recipe.user_facts import UserFactsRecipe
from assets.text.words import spells
from assets.user_facts.records import FactLife, FactSessions
from assets.user_facts.sessions import GATE, reading_of, wording_problems
from validation.rules import AcceptingVotes, Rule, expect


def texts_make_the_statements(told: FactSessions, life: FactLife, _: UserFactsRecipe) -> Iterator[str]:
    planned = [session.statements for session in life.sessions]
    yield from expect([session.statements for session in told.sessions] == planned, "its statements are not those planned")
    for session in told.sessions:
        for statement in session.statements:
            if statement.shape == "refed":
                continue
            for problem in wording_problems(statement, session.text_of(statement)):
                yield f"session {session.number}: {problem}"


def requests_name_no_value(told: FactSessions, life: FactLife, _: UserFactsRecipe) -> Iterator[str]:
    for session in told.sessions:
        for planned in life.sessions:
            for statement in planned.statements:
                if session.request and statement.value and spells(session.request, statement.value):
                    yield f"the request of session {session.number} tells {statement.value!r}"


def mails_tell_what_was_forgotten(told: FactSessions, life: FactLife, _: UserFactsRecipe) -> Iterator[str]:
    for session in told.sessions:
        refed = [statement for statement in session.statements if statement.shape == "refed"]
        yield from expect(bool(refed) == bool(session.mail), f"session {session.number} has a mail without need, or lacks one")
        for refed_statement in refed:
            for word in (life.name, refed_statement.label, refed_statement.value):
                yield from expect(spells(session.mail, word), f"the mail of session {session.number} does not say {word!r}")
    forgotten = [statement for session in told.sessions for statement in session.statements if statement.shape == "forget"]
    again = [statement for session in told.sessions for statement in session.statements if statement.shape == "refed"]
    yield from expect(len(again) == len(forgotten), f"{len(again)} of {len(forgotten)} facts are told again")


def judges_read_them_back(told: FactSessions, recipe: UserFactsRecipe) -> Iterator[str]:
    votes = AcceptingVotes(told.gate_records)
    for session in told.sessions:
        for text in (session.message, session.request):
            said = [
                statement
                for statement in session.statements
                if statement.shape != "refed" and text and session.text_of(statement) == text
            ]
            target = reading_of(said)
            if not target:
                continue
            accepting = votes.too_few(GATE, text, target, policy=recipe.gates)
            yield from expect(accepting is None, f"session {session.number} was accepted by {accepting} votes")


RULES = (
    Rule(
        "texts_make_the_statements",
        "Every statement is said in its session's words.",
        texts_make_the_statements,
        reads=("lives",),
    ),
    Rule("requests_name_no_value", "A request to forget tells no value.", requests_name_no_value, reads=("lives",)),
    Rule(
        "mails_tell_what_was_forgotten",
        "A mail tells the whole fact that was to be forgotten, where the recipe says so.",
        mails_tell_what_was_forgotten,
        reads=("lives",),
    ),
    Rule(
        "judges_read_them_back",
        "Enough votes read each text as what it was meant to say.",
        judges_read_them_back,
        of_votes=True,
    ),
)
