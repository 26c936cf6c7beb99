"""The relations of a team's world: what its notes say of tickets, patches, services and functions, and what was executed."""

from collections.abc import Mapping
from datetime import date

from assets.memory_items.facts import Status
from assets.memory_items.world.relations import Days, Relation

# Relations whose values were executed, and are never invented: what a call comes to, and what a changed function does to it.
OUTCOME = "outcome"
EDIT = "edit"
BREAKS = "breaks"
WRONG_RESULT = "wrong_result"
EXECUTED = frozenset((OUTCOME, EDIT, BREAKS, WRONG_RESULT))
# Those that are shown as an interpreter prints them, and not said in a sentence.
SHOWN = frozenset((OUTCOME, WRONG_RESULT))
# What questions of several facts end in, by what somebody of the team asks; all kinds equally often, but the first twice.
QUESTION_KINDS: Mapping[str, tuple[str, ...]] = {
    "what happens if": (OUTCOME, WRONG_RESULT),
    "why": ("motive", "use", "origin"),
    "what was changed": (EDIT, "successor", "wrapper"),
    "by when": ("due", "removal", "drop", "end"),
    "who": ("owner", "approver", "assignee", "on_call"),
    "what was decided": ("verdict", "bad_input", "batch", "cached"),
}
# What is agreed for a while: since when, and does a note on it still hold? Of the others one of two may have more.
HELD = (
    *("on_call", "required", "batch", "bad_input", "assignee", "verdict"),
    *("owner", "tracker", "wrapper"),
)
COMPARED = ("batch", "end", "due", "drop", "cached", "removal")
# Notes are of one summer, in which the packages are out, and what they plan is of the autumn after it.
NOTED = Days(date(2026, 5, 4), date(2026, 9, 25), worked=True)
PLANNED = Days(date(2026, 9, 28), date(2026, 12, 18), worked=True)
NUMBERS = (2110, 9870)  # of tickets and patches: none reads like a year, and no number of a decision does
# Each noun phrase ends in {x}: nested ones then read from left to right.
RELATIONS: tuple[Relation, ...] = (
    Relation(
        "entry",
        "service",
        "function",
        "of the package {subject} imports `{value}` alone",
        "the function that is imported by {x}",
    ),
    Relation(
        "probe",
        "service",
        "call",
        "the health check of {subject} calls `{value}`",
        "the call in the health check of {x}",
        hints_at="entry",
    ),
    Relation("blocker", "service", "ticket", "the rollout of {subject} waits for {value}", "the ticket that holds up {x}"),
    Relation("required", "service", "patch", "{subject} carries {value}", "the patch carried by {x}"),
    Relation("on_call", "service", "person", "{value} is on call for {subject}", "the person on call for {x}"),
    Relation(
        "batch",
        "service",
        "number",
        "{subject} takes at most {value} records per batch",
        "the greatest batch in records of {x}",
        between=(150, 1850),
        step=25,
    ),
    Relation(
        "bad_input",
        "service",
        "option",
        "in {subject} records that cannot be read are {value}",
        "what happens to unreadable records of {x}",
        options=("skipped", "retried", "quarantined", "logged and dropped", "sent back", "fixed by hand"),
    ),
    Relation("end", "service", "date", "{subject} is switched off on {value}", "the switch-off day of {x}", days=PLANNED),
    Relation(
        "tested", "ticket", "call", "the test for {subject} calls `{value}`", "the call in the test for {x}", hints_at="fault"
    ),
    Relation("fault", "ticket", "function", "{subject} comes from `{value}`", "the function at fault in {x}"),
    Relation("cause", "ticket", "patch", "{subject} goes back to {value}", "the patch to blame for {x}"),
    Relation("duplicate", "ticket", "ticket", "{subject} is a duplicate of {value}", "the ticket duplicated by {x}"),
    Relation("hit", "ticket", "service", "{subject} was first seen in {value}", "the service that first saw {x}"),
    Relation("assignee", "ticket", "person", "{value} works on {subject}", "the person who works on {x}"),
    Relation(
        "verdict",
        "ticket",
        "option",
        "{subject} is to be {value}",
        "the decision on {x}",
        options=("reverted", "documented", "worked around", "postponed", "reported upstream", "closed as is"),
    ),
    Relation("due", "ticket", "date", "{subject} is due on {value}", "the due date of {x}", days=PLANNED),
    Relation(EDIT, "patch", "code", "{subject} turns `{value}`", "the edit made by {x}", disputed=False),
    Relation(BREAKS, "patch", "call", "{subject} breaks the call `{value}`", "the call broken by {x}", disputed=False),
    Relation(
        WRONG_RESULT,
        "patch",
        "code",
        "with {subject} applied the broken call gives `{value}`",
        "the wrong result that a call gives with {x}",
        disputed=False,
        hints_at="breaks",
    ),
    Relation("approver", "patch", "person", "{value} approved {subject}", "the person who approved {x}"),
    Relation(
        "motive",
        "patch",
        "option",
        "{subject} was made because of {value}",
        "the reason for {x}",
        options=("a customer's files", "slow imports", "memory use", "an audit", "the old database", "a retry storm"),
    ),
    Relation("drop", "patch", "date", "{subject} is dropped on {value}", "the last day of {x}", days=PLANNED),
    Relation("owner", "function", "person", "{value} is the one to ask about `{subject}`", "the person to ask about {x}"),
    Relation("tracker", "function", "ticket", "{value} tracks our use of `{subject}`", "the ticket that tracks our use of {x}"),
    Relation(
        "cached",
        "function",
        "number",
        "our cache has room for {value} results of `{subject}`",
        "the greatest number of cached results of {x}",
        between=(152, 952),
        step=8,
    ),
    Relation(
        "wrapper",
        "function",
        "wrapper",
        "our wrapper of `{subject}` is `{value}`",
        "the name of our wrapper of {x}",
        fits_one=True,
    ),
    Relation(
        "removal",
        "function",
        "date",
        "we are rid of `{subject}` by {value}",
        "the day by which we are to be rid of {x}",
        days=PLANNED,
    ),
    Relation("origin", "function", "service", "we first used `{subject}` in {value}", "the service in which we first used {x}"),
    Relation(
        "successor",
        "function",
        "function",
        "in new code we use `{value}` instead of `{subject}`",
        "the function that our new code takes in place of {x}",
        fits_one=True,
    ),
    Relation(
        "use",
        "function",
        "option",
        "we took `{subject}` in place of code of our own because of {value}",
        "the reason why we took {x}",
        options=("an outage", "slow exports", "the upgrade", "wrong encodings", "a security review", "the translations"),
    ),
    Relation(OUTCOME, "call", "code", "`{subject}` ends in `{value}`", "the unpatched outcome of {x}", disputed=False),
)
# The rule that a ticket settled, as an assertion of one call. Session questions ask for it, and code questions do not.
RULING = Relation(
    "ruling", "ticket", "code", "{subject} settles that `{value}` holds", "the assertion settled by {x}", fits_one=True
)
NOTE_KINDS = ("bug report", "code review", "ticket", "incident note", "commit message", "design note", "chat")
# What a note says is so, and it needs no word for it; these two are heard.
STANDINGS: Mapping[Status, str] = {"certified": "signed off", "unconfirmed": "only proposed"}
