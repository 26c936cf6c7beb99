"""The relations of a team's world: what its notes say of tickets, patches, services and functions, and what was executed."""

from collections.abc import Mapping

from assets.memory_items.facts import Status
from assets.memory_items.world.relations import Relation

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
    "why": ("motive", "restriction"),
    "what was changed": (EDIT, "successor", "wrapper"),
    "by when": ("due", "removal", "drop", "freeze"),
    "who": ("owner", "approver", "assignee", "on_call"),
    "what was decided": ("verdict", "bad_input", "input_limit", "batch", "exempt"),
}
# What is agreed for a while: since when, and does a note on it still hold? Of the others one of two may have more.
HELD = (
    "on_call",
    "deployed",
    "batch",
    "bad_input",
    "assignee",
    "verdict",
    "owner",
    "tracker",
    "input_limit",
    "wrapper",
    "exempt",
)
COMPARED = ("batch", "freeze", "due", "drop", "input_limit", "removal")
# Numbers begin after the years of notes and deadlines, so that no date reads like one of them.
NUMBERS = (2110, 9870)
YEARS = (2038, 2041)
# Each noun phrase ends in {x}: nested ones then read from left to right.
RELATIONS: tuple[Relation, ...] = (
    Relation(
        "entry", "service", "function", "{subject} reaches the package only through `{value}`", "the entry function of {x}"
    ),
    Relation(
        "hot_call",
        "service",
        "call",
        "{subject} makes the call `{value}` for every record",
        "the call made for every record by {x}",
    ),
    Relation("blocker", "service", "ticket", "the rollout of {subject} waits for {value}", "the ticket that holds up {x}"),
    Relation("deployed", "service", "patch", "{subject} runs with {value}", "the patch deployed in {x}"),
    Relation("on_call", "service", "person", "{value} is on call for {subject}", "the person on call for {x}"),
    Relation(
        "batch",
        "service",
        "number",
        "{subject} hands over at most {value} records at once",
        "the greatest batch in records of {x}",
        NUMBERS,
    ),
    Relation(
        "bad_input",
        "service",
        "option",
        "bad input of {subject} is {value}",
        "the treatment of bad input of {x}",
        options=("parked", "mirrored", "escalated", "shelved", "sampled", "binned"),
    ),
    Relation("freeze", "service", "date", "{subject} is frozen until {value}", "the end date of the freeze of {x}", YEARS),
    Relation("repro", "ticket", "call", "{subject} is reproduced by `{value}`", "the call that reproduces {x}"),
    Relation("fault", "ticket", "function", "the fault behind {subject} lies in `{value}`", "the function at fault in {x}"),
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
        options=("reverted", "documented", "wrapped", "postponed", "reported upstream", "pinned"),
    ),
    Relation("due", "ticket", "date", "{subject} has to be settled by {value}", "the due date of {x}", YEARS),
    Relation(EDIT, "patch", "code", "{subject} turns `{value}`", "the edit made by {x}", disputed=False),
    Relation(BREAKS, "patch", "call", "{subject} breaks the call `{value}`", "the call broken by {x}", disputed=False),
    Relation(
        WRONG_RESULT,
        "patch",
        "code",
        "with {subject} applied the broken call gives `{value}`",
        "the wrong result that a call gives with {x}",
        disputed=False,
    ),
    Relation("approver", "patch", "person", "{value} approved {subject}", "the person who approved {x}"),
    Relation(
        "motive",
        "patch",
        "option",
        "{subject} was made because of {value}",
        "the reason for {x}",
        options=("an audit", "a customer", "latency", "memory use", "a lint rule", "a merge conflict"),
    ),
    Relation("drop", "patch", "date", "{subject} is to be dropped by {value}", "the last day of {x}", YEARS),
    Relation(
        "owner",
        "function",
        "person",
        "{value} decides about our use of `{subject}`",
        "the person who decides about our use of {x}",
    ),
    Relation("tracker", "function", "ticket", "{value} tracks our use of `{subject}`", "the ticket that tracks our use of {x}"),
    Relation(
        "input_limit",
        "function",
        "number",
        "input for `{subject}` may have at most {value} characters",
        "the greatest length in characters of input for {x}",
        NUMBERS,
    ),
    Relation(
        "wrapper", "function", "wrapper", "our wrapper around `{subject}` is `{value}`", "the name of our wrapper around {x}"
    ),
    Relation(
        "removal",
        "function",
        "date",
        "our calls of `{subject}` are to be gone by {value}",
        "the end date of our calls of {x}",
        YEARS,
    ),
    Relation(
        "exempt",
        "function",
        "service",
        "{value} alone is exempt from our ban on `{subject}`",
        "the service that is exempt from our ban on {x}",
    ),
    Relation(
        "successor",
        "function",
        "function",
        "new code of ours takes `{value}` in place of `{subject}`",
        "the function that our new code takes in place of {x}",
    ),
    Relation(
        "restriction",
        "function",
        "option",
        "we restrict `{subject}` because of {value}",
        "the reason why we restrict {x}",
        options=("an outage", "an audit", "a data loss", "support load", "a slow release", "a contract"),
    ),
    Relation(OUTCOME, "call", "code", "`{subject}` ends in `{value}`", "the outcome of {x}", disputed=False),
)
# The rule that a ticket settled, as an assertion of one call. Session questions ask for it, and code questions do not.
RULING = Relation("ruling", "ticket", "code", "{subject} settles that `{value}` holds", "the assertion that {x} settles")
NOTE_KINDS = ("bug report", "code review", "ticket", "incident note", "commit message", "design note")
# Of what is asked for there is no mere proposal; proposals are among what does not count, and among what is said beside.
STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified")
STANDINGS: Mapping[Status, str] = {"plain": "agreed", "certified": "signed off", "unconfirmed": "only proposed"}
