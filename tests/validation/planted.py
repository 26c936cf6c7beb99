"""The planted defects: what goes wrong, which rule or promise has to see it, and what that says."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from assets.records.event import Event
from assets.records.schema import StateVariable
from assets.tables import failure_row
from tests import scenario
from tests.validation import spoiling
from tests.validation.spoiling import (
    Spoil,
    at,
    changed,
    doubled,
    edited,
    lacking,
    later,
    of_another,
    spoiled,
    swapped,
    twice,
)
from tests.validation.world import world


@dataclass(frozen=True)
class Defect:
    """`told` is in what the rule says of it."""

    kind: str
    rule: str
    spoil: Spoil
    told: str


EVEN = ("tea", "Tea", "coffee")
ORPHAN = StateVariable(name="orphan", choices=("a", "b", "c"), merged_from=("nobody",))
NOTHING = Event(states=("weather",), text="It rained.")
CHOICE_TOLD = edited("questions", 0, edit=lambda q: {"text": f"Why {q.required_info[0].info_choices[0].replace('_', ' ')}?"})


def value_told(rows: list[Any]) -> list[Any]:
    """The first question spells a value of its first variable."""
    value = rows[0].variables[0].choices[0].replace("_", " ")
    return at("questions", 0, text=f"As one with {value}, what now?")(rows)


def quadrupled(rows: list[Any]) -> list[Any]:
    """The changes of a period four times over."""
    return changed("periods", 1, "updates", to=lambda updates: updates * 4)(rows)


def told_again(rows: list[Any]) -> list[Any]:
    """The second session of a period exposes what the first did."""
    return at("periods", 1, "sessions", 1, exposed_states=rows[0].periods[1].sessions[0].exposed_states)(rows)


def like_the_first(rows: list[Any]) -> list[Any]:
    """A second variable that differs from the first by spacing."""
    first = rows[0].variables[0]
    return at("variables", 1, name=first.name.replace("_", " "))(rows)


def spelling(variable: int) -> Spoil:
    """The first query spells a value of the schema's variable with this number."""
    schema = world().rows("state_schema")[0]
    value = schema.variables[variable].choices[0].replace("_", " ")
    return at("periods", 0, "sessions", 0, query=f"You should know that it is {value}.")


def turned(golden: tuple[str, ...]) -> tuple[str, ...]:
    """Every key a period too early."""
    return (*golden[1:], golden[0])


def row_lost(rows: list[Any]) -> list[Any]:
    """All rows but the first."""
    return rows[1:]


def row(number: int, **fields: object) -> Spoil:
    """Other fields in the row with this number."""
    return lambda rows: [*rows[:number], spoiled(rows[number], **fields), *rows[number + 1 :]]


def same(field: str) -> Spoil:
    """The first row has this field of the second."""
    return lambda rows: [spoiled(rows[0], **{field: getattr(rows[1], field)}), *rows[1:]]


def at_once(rows: list[Any]) -> list[Any]:
    """Two sessions at one time."""
    return same("session_time")(rows)


def failed_and_released(_: list[Any]) -> list[Any]:
    """A failure of a user whose row is there."""
    return [failure_row(scenario.failure(user_id=next(iter(world().released))))]


def unreasonable(_: list[Any]) -> list[Any]:
    """A failure for a reason that there is not."""
    return [spoiled(failure_row(scenario.failure()), reason="tired")]


PLANTED: Mapping[str, tuple[Defect, ...]] = {
    "stage personas": (
        Defect("an excluded persona", "no_excluded_persona", at(user_id="excluded"), "exclude_ids"),
        Defect(
            "a persona without words", "personas_tell_something", at(persona="", professional_persona=""), "no persona text"
        ),
        Defect("a duplicated user", "one_row_per_user", twice, "has 2 rows"),
        Defect("one person under two ids", "personas_differ", of_another, "same texts as"),
    ),
    "stage user_profiles": (
        Defect("an empty field", "no_empty_field", at(formatted_str="Education: some_college ()"), "'()'"),
        Defect("a null shown as text", "no_empty_field", at(formatted_str="Hobbies: None"), "'Hobbies: None'"),
        Defect("not a number, shown as text", "no_empty_field", at(formatted_str="Hobbies: nan"), "'Hobbies: nan'"),
        Defect("a field without value", "no_empty_field", at(formatted_str="Hobbies:\nAge: 3"), "'Hobbies:'"),
        Defect("a long paragraph", "short_paragraph", at(complementary_info="word " * 500), "has 500 words"),
        Defect("a profile without its name", "shown_whole", at(formatted_str="Age: 3"), "lacks the name"),
        Defect("a name made up", "name_from_persona", at(name="Xaver Yps"), "'Xaver Yps' is no name"),
        Defect("a profile that nobody sampled", "name_from_persona", of_another, "no record of personas"),
        Defect("another age", "facts_of_persona", at(age=5), "has the age 5"),
    ),
    "stage questions": (
        Defect("a missing question", "question_counts", lacking("questions"), "has 2 questions"),
        Defect("a missing type", "question_counts", lacking("questions", 0, "required_info"), "q01 has 1 types"),
        Defect(
            "a missing choice", "question_counts", lacking("questions", 0, "required_info", 0, "info_choices"), "has 2 choices"
        ),
        Defect("a question asked twice", "questions_differ", doubled("questions"), "occur twice"),
        Defect("a type twice in a question", "questions_differ", doubled("questions", 0, "required_info"), "must differ"),
        Defect(
            "a choice twice", "questions_differ", at("questions", 0, "required_info", 0, info_choices=EVEN), "repeat ['tea']"
        ),
        Defect("a question that tells a choice", "no_choice_given_away", CHOICE_TOLD, "q01 gives"),
    ),
    "stage state_schema": (
        Defect("a type lost in merging", "types_mapped_once", at("variables", 0, merged_from=()), "0 times"),
        Defect("a type that nobody drafted", "types_mapped_once", at("variables", 0, merged_from=("x",)), "nobody drafted"),
        Defect("a type mapped twice", "types_mapped_once", doubled("variables"), "2 times"),
        Defect("a question lost in merging", "questions_rewritten", lacking("questions"), "q01 is missing"),
        Defect("a question reworded", "questions_rewritten", at("questions", 0, text="Hm?"), "does not have its drafted words"),
        Defect("variables out of order", "questions_rewritten", swapped("questions", 0, "required_info"), "q01 requires"),
        Defect("a value lost", "choice_counts", lacking("variables", 0, "choices"), "has 2 choices"),
        Defect("an orphan variable", "schema_agrees", changed("variables", to=lambda v: (*v, ORPHAN)), "variables ['orphan']"),
        Defect("an unknown variable", "schema_agrees", at("questions", 0, required_info=("x", "y")), "unknown ones ['x', 'y']"),
        Defect("a variable twice", "schema_agrees", doubled("variables"), "twice"),
        Defect(
            "a variable twice in a question", "schema_agrees", doubled("questions", 0, "required_info"), "different variables"
        ),
        Defect("values that differ by case only", "told_apart", at("variables", 0, choices=EVEN), "['tea', 'Tea'] of"),
        Defect("variables that differ by spacing only", "told_apart", like_the_first, "read the same"),
        Defect("a question that tells a value", "no_value_given_away", value_told, "q01 gives"),
    ),
    "stage state_trajectory": (
        Defect(
            "a broken chain of states", "states_follow", changed("periods", 2, "state", to=spoiling.other_value), "not follow"
        ),
        Defect("a change from another value", "states_follow", at("periods", 1, "updates", 0, old="x"), "which it was not"),
        Defect(
            "a change to the same value",
            "states_follow",
            edited("periods", 1, "updates", 0, edit=lambda u: {"new": u.old}),
            "same value",
        ),
        Defect("a gap between periods", "states_follow", at("periods", 1, start=date(2020, 11, 1)), "does not begin where"),
        Defect("an illegal value", "legal_states", changed("periods", 0, "state", to=spoiling.other_value), "'on the moon'"),
        Defect(
            "a state without a variable",
            "legal_states",
            changed("periods", 0, "state", to=lambda s: dict(list(s.items())[1:])),
            "lacks",
        ),
        Defect(
            "a state with an orphan",
            "legal_states",
            changed("periods", 0, "state", to=lambda s: {**s, "orphan": "a"}),
            "['orphan']",
        ),
        Defect("another start date", "period_dates", at("periods", 0, end=date(2020, 9, 30)), "not begin on the start date"),
        Defect("a missing period", "period_dates", changed("periods", to=lambda p: p[:-1]), "has 4 periods"),
        Defect("a period of another length", "period_dates", at("periods", 2, end=date(2021, 5, 1)), "period 2 has the dates"),
        Defect(
            "a period in which little happens", "changes_per_period", at("periods", 1, updates=()), "period 1 has 0 updates"
        ),
        Defect("a variable that changes all the time", "changes_per_variable", quadrupled, "times"),
        Defect("a variable that never changes", "every_variable_moves", edited(edit=spoiling.frozen), "never changes"),
        Defect("a value taken up again at once", "no_ping_pong", spoiling.back_and_forth, "returns to it in period 2"),
        Defect("one value all the time", "balanced_values", edited(edit=spoiling.frozen), "evenness of 0.00"),
    ),
    "stage events": (
        Defect("a period without events", "events_per_period", at("periods", 0, events=()), "period 1 has no event"),
        Defect(
            "events of a missing period",
            "events_per_period",
            changed("periods", to=lambda p: p[:-1]),
            "for the periods [1, 2, 3]",
        ),
        Defect(
            "an event for an unchanged state",
            "events_cause_updates",
            changed("periods", 0, "events", to=lambda e: (*e, NOTHING)),
            "['weather'], which did not change",
        ),
        Defect("a change without an event", "events_cause_updates", lacking("periods", 0, "events"), "without an event"),
        Defect("two events for one change", "events_cause_updates", doubled("periods", 0, "events"), "has two events for"),
        Defect("an event that happens twice", "events_differ", doubled("periods", 0, "events"), "2 events read"),
    ),
    "stage session_queries": (
        Defect(
            "a first query that tells everything",
            "few_states_each",
            at("periods", 0, "sessions", 0, exposed_states=dict.fromkeys("abcd", "x")),
            "exposes 4 states",
        ),
        Defect("a session after its period", "inside_period", later("periods", 1, "sessions", 0, days=200), "outside period 1"),
        Defect(
            "a session before its period", "inside_period", later("periods", 1, "sessions", 0, days=-200), "outside period 1"
        ),
        Defect("a first session long ago", "inside_period", later("periods", 0, "sessions", 0, days=-60), "outside period 0"),
        Defect("sessions out of order", "times_increase", swapped("periods", 0, "sessions"), "strictly increasing order"),
        Defect("a value exposed twice", "times_increase", told_again, "more than one session"),
        Defect(
            "a wrong value exposed",
            "exposes_what_is_new",
            changed("periods", 1, "sessions", 0, "exposed_states", to=spoiling.other_value),
            "as 'on the moon'",
        ),
        Defect(
            "a query that exposes a second variable",
            "exposes_what_is_new",
            changed("periods", 1, "sessions", 0, "exposed_states", to=lambda s: {**s, "weather": "rain"}),
            "exposes 'weather'",
        ),
        Defect("a change that no session tells", "exposes_what_is_new", lacking("periods", 1, "sessions"), "as None"),
        Defect("a part of the first state untold", "exposes_what_is_new", lacking("periods", 0, "sessions"), "as None"),
        Defect(
            "an event without its session", "tells_the_events", lacking("periods", 1, "sessions"), "no session for the events"
        ),
        Defect(
            "a session of another event",
            "tells_the_events",
            at("periods", 1, "sessions", 0, event="It rained."),
            "for none of its events",
        ),
        Defect(
            "a first session with an event",
            "tells_the_events",
            at("periods", 0, "sessions", 0, event="It rained."),
            "has the event 'It rained.'",
        ),
        Defect(
            "a query changed after its gate",
            "queries_passed_gate",
            at("periods", 0, "sessions", 0, query="Hello?"),
            "has 0 accepting votes",
        ),
        Defect("a gate never passed", "queries_passed_gate", at(gate_records=()), "has 0 accepting votes"),
        Defect("a leaked value", "no_copied_value", spelling(0), "spells"),
        Defect("a leaked value of another variable", "no_copied_value", spelling(-1), "spells"),
        Defect(
            "two sessions with the same words", "queries_differ", doubled("periods", 1, "sessions"), "2 sessions begin with"
        ),
    ),
    "stage answers": (
        Defect(
            "a wrong key", "golden_is_right", edited("questions", 0, edit=spoiling.wrong_key), "in period 0 the key of q01 is"
        ),
        Defect("two identical answers", "options_differ", spoiling.like_the_second("answer"), "equal answers"),
        Defect("two options for one variant", "options_differ", spoiling.like_the_second("state"), "equal variants"),
        Defect("two options with one id", "options_differ", spoiling.like_the_second("choice_id"), "equal choice ids"),
        Defect(
            "a key to nothing",
            "options_differ",
            changed("questions", 0, "golden", to=lambda g: ("q01-c99", *g[1:])),
            "do not exist",
        ),
        Defect("an unanswered question", "all_answered", lacking("questions"), "answers the questions ['q02', 'q03']"),
        Defect("a missing option", "enough_options", changed("questions", 0, "choices", to=lambda c: c[:3]), "has 3 options"),
        Defect("a missing key", "enough_options", lacking("questions", 0, "golden"), "q01 has 4 golden choices"),
        Defect(
            "an option for no variant",
            "legal_variants",
            at("questions", 0, "choices", 0, state=("x", "y")),
            "which is no variant",
        ),
        Defect("values out of order", "legal_variants", swapped("questions", 0, "choices", 0, "state"), "which is no variant"),
        Defect(
            "a life not lived", "types_are_right", changed("questions", 0, "choices", to=spoiling.other_types), "has the type"
        ),
        Defect(
            "an answer changed later",
            "answers_passed_gates",
            at("questions", 0, "choices", 0, answer="No."),
            "of the recovery gate",
        ),
        Defect("a gate never passed", "answers_passed_gates", at(gate_records=()), "0 accepting votes of the choice gate"),
        Defect(
            "an answer of one word",
            "a_few_sentences",
            at("questions", 0, "choices", 0, answer="Rest"),
            "q01-c1 has 0 sentences",
        ),
        Defect(
            "a long answer", "a_few_sentences", at("questions", 0, "choices", 0, answer="Go. " * 5), "q01-c1 has 5 sentences"
        ),
        Defect(
            "an answer that tells its value",
            "no_copied_value",
            edited("questions", 0, "choices", 0, edit=spoiling.label),
            "spells",
        ),
        Defect("position bias", "no_favoured_position", spoiling.always_first, "option 1 is right at first in 36 of 36"),
    ),
    "stage audits": (
        Defect("a question never guessed", "all_guessed", at(judgements=()), "other keys of q01"),
        Defect(
            "a judgement of no option", "own_options", changed("judgements", 0, "expected", to=lambda _: "q01-c99"), "has not"
        ),
        Defect("an ambiguous answer", "unambiguous", changed("judgements", to=spoiling.never_recovered), "0 of"),
    ),
    "stage episodes": (
        Defect("a question lost", "complete", lacking("questions"), "has 2 questions"),
        Defect("a period lost", "complete", changed("periods", to=lambda p: p[:-1]), "has 4 periods"),
        Defect("another first day", "complete", at(start_date=date(2021, 1, 1)), "starts on 2021-01-01"),
        Defect("a wrong key at last", "consistent", edited("questions", 0, edit=spoiling.wrong_key), "has the golden choice"),
        Defect("a part of another user", "consistent", at("user_profile", user_id="another"), "belongs to user 'another'"),
        Defect("a question on nothing", "consistent", at("questions", 0, required_info=("x", "y")), "unknown variables"),
        Defect(
            "a session that tells more",
            "consistent",
            changed("periods", 1, "sessions", to=lambda s: s[1:]),
            "exactly its updates",
        ),
        Defect("a miscounted change", "updates_counted", at("periods", 1, update_counts={}), "period 1 counts None updates"),
        Defect("a user released twice", "one_row_per_user", twice, "has 2 rows"),
    ),
    "file state_trajectory": (
        Defect(
            "a snapshot with a broken chain", "reader", changed("periods", 2, "state", to=spoiling.other_value), "not follow"
        ),
    ),
    "file answers": (
        Defect("a snapshot with two equal answers", "reader", spoiling.like_the_second("answer"), "equal answers"),
    ),
    "table users": (
        Defect("a user row twice", "user_id tells the rows apart", twice, "user_id: "),
        Defect("a user row lost", " has a row for each user, 3 in all", row_lost, "found 2"),
        Defect("a name missing", "name is never missing", at(name=None), "user_id: "),
        Defect("a name of blanks", "name is not blank", at(name="  "), "user_id: "),
        Defect("a broken encoding", "complementary_info has no unreadable character", at(complementary_info="Le\ufffdn"), "Le"),
        Defect("an age as text", "age is a whole number", at(age="41"), "age: 41"),
        Defect("an impossible age", "age is 0 to 120", at(age=200), "age: 200"),
        Defect("another start", "start_date is 2020-10-01", at(start_date="2020-10-02"), "2020-10-02"),
        Defect("a profile row without its name", "name in formatted_str holds", at(formatted_str="x"), "False"),
    ),
    "table state_variables": (
        Defect("a variable of nobody", "user exists holds", at(user_id="nobody"), "user_id: nobody"),
        Defect("a variable row twice", "user_id, variable tells the rows apart", twice, "variable: "),
        Defect("a lost choice", "number of choices is 3", lacking("choices"), "number of choices: 2"),
        Defect("a choice listed twice", "choices differ holds", at(choices=("a", "a", "b")), "False"),
    ),
    "table periods": (
        Defect("a period row lost", " has 5 rows for each user, 15 in all", row_lost, "found 14"),
        Defect(
            "a period that ends too early", "period_end lies after period_start", row(1, period_end="2020-01-01"), "2020-01-01"
        ),
        Defect("a day that is none", "period_end is a day as YYYY-MM-DD", at(period_end="2020-13-01"), "2020-13-01"),
        Defect(
            "a period without start",
            "period 0 and no other lacks start and summary holds",
            row(1, period_start=None),
            "period: 1",
        ),
    ),
    "table states": (
        Defect("a value that is no choice", "value is a choice of the variable holds", at(value="x"), "period: 0"),
        Defect(
            "a change that was none",
            "old_value is the value before, where that differs holds",
            at(old_value="x"),
            "period: 0",
        ),
        Defect("a state of no period", "period exists holds", at(period=99), "period: 99"),
        Defect("too many changes", "update_count is 0 to 3", at(update_count=9), "update_count: 9"),
    ),
    "table sessions": (
        Defect("two sessions at once", "user_id, session_time tells the rows apart", at_once, "session_time: "),
        Defect("a query of blanks", "query is not blank", at(query=" "), "session: 0"),
        Defect("a time that is none", "session_time is a time as YYYY-MM-DD HH:MM:SS", at(session_time="noon"), "noon"),
        Defect(
            "a false value exposed",
            "exposed values are those of the period holds",
            at(exposed_states={"x": "y"}),
            "session: 0",
        ),
        Defect(
            "a session with an event too many",
            "sessions of period 0 and no others lack an event holds",
            at(event="Rain."),
            "period: 0",
        ),
    ),
    "table questions": (
        Defect("a wrong key", "golden choices match the states holds", changed("golden", to=turned), "q01"),
        Defect("a key to nothing", "golden choices exist holds", at(golden=("q01-c99",) * 5), "q01"),
        Defect("a key lost", "number of golden choices is 5", lacking("golden"), "number of golden choices: 4"),
        Defect("a question on nothing", "variables exist holds", at(required_info=("x", "y")), "q01"),
        Defect("a strange id", "question_id is q and a number", at(question_id="first"), "first"),
        Defect("a question row lost", " has 3 rows for each user, 9 in all", row_lost, "found 8"),
    ),
    "table answer_choices": (
        Defect("an orphan answer", "question exists holds", at(question_id="q99"), "q99"),
        Defect("two identical answers", "user_id, question_id, answer tells the rows apart", same("answer"), "choice_id: "),
        Defect("two options for one variant", "user_id, question_id, state tells the rows apart", same("state"), "choice_id: "),
        Defect(
            "two options at one place", "user_id, question_id, position tells the rows apart", same("position"), "position: 1"
        ),
        Defect("an option for no variant", "state has a choice of each variable holds", at(state=("x", "y")), "q01-c1"),
        Defect("an unknown kind of option", "type is one of experience, random", at(type="dreamt"), "dreamt"),
    ),
    "table gate_records": (
        Defect("an unknown gate", "gate is one of exposure, recovery, choice", at(gate="vibes"), "vibes"),
        Defect("a vote that is no vote", "accepted is true or false", at(accepted="perhaps"), "perhaps"),
        Defect("a vote counted twice", "user_id, number tells the rows apart", twice, "number: 0"),
        Defect(
            "a user said to be replaced",
            "released tells whether the user is in users holds",
            at(released=False),
            "0",
        ),
    ),
    "table failures": (
        Defect("a released user who failed", "user is not in users holds", failed_and_released, "user_id: "),
        Defect("an unknown reason", "reason is one of", unreasonable, "tired"),
    ),
}
