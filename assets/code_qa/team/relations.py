"""The relations of a team's world: agreements around a package, and one that is none: what a call came to when it was run."""

from collections.abc import Mapping

from assets.memory_items.facts import Status
from assets.memory_items.world.relations import Relation

OUTCOME = "outcome"  # the relation whose values are executed, never invented
# Numbers begin after the years of notes and deadlines, so that no date reads like one of them.
# Each noun phrase ends in {x}: nested ones then read from left to right.
RELATIONS: tuple[Relation, ...] = (
    Relation(
        "entry", "service", "function", "{subject} reaches the package only through `{value}`", "the entry function of {x}"
    ),
    Relation(
        "exception",
        "service",
        "call",
        "{subject} has an agreed exception and calls `{value}`",
        "the call allowed by the agreed exception of {x}",
    ),
    Relation("keeper", "service", "person", "{value} looks after {subject}", "the person who looks after {x}"),
    Relation(
        "batch",
        "service",
        "number",
        "{subject} hands over at most {value} records at once",
        "the greatest batch in records of {x}",
        (2110, 9870),
    ),
    Relation("fallback", "service", "service", "{subject} falls back on {value}", "the fallback service of {x}"),
    Relation(
        "bad_input",
        "service",
        "option",
        "bad input of {subject} is {value}",
        "the treatment of bad input of {x}",
        options=("parked", "mirrored", "escalated", "shelved", "sampled", "binned"),
    ),
    Relation(
        "freeze", "service", "date", "{subject} is frozen until {value}", "the end date of the freeze of {x}", (2038, 2041)
    ),
    Relation(
        "owner",
        "function",
        "person",
        "{value} decides about our use of `{subject}`",
        "the person who decides about our use of {x}",
    ),
    Relation(
        "input_limit",
        "function",
        "number",
        "input for `{subject}` may have at most {value} characters",
        "the greatest length in characters of input for {x}",
        (2110, 9870),
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
        (2038, 2041),
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
    Relation(OUTCOME, "call", "code", "`{subject}` ends in `{value}`", "the outcome of {x}", disputed=False),
    Relation("deputy", "person", "person", "{value} stands in for {subject}", "the person who stands in for {x}"),
    Relation("works_in", "person", "team", "{subject} works in {value}", "the team of {x}"),
    Relation("away", "person", "date", "{subject} is away until {value}", "the end date of the leave of {x}", (2038, 2041)),
    Relation("head", "team", "person", "{value} leads {subject}", "the person who leads {x}"),
    Relation("duty", "team", "service", "{subject} is on duty for {value}", "the service on the duty list of {x}"),
    Relation(
        "quota",
        "team",
        "number",
        "{subject} takes at most {value} tickets in a year",
        "the yearly ticket quota of {x}",
        (2110, 9870),
    ),
)
NOTE_KINDS = ("review note", "ticket", "chat thread", "commit message", "meeting note", "hand-over mail")
# Of what is asked for there is no mere proposal; proposals are among what does not count, and among what is said beside.
STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified")
AS_OF: Mapping[Status, tuple[str, ...]] = {
    "plain": ("as agreed on {day}", "since the team call of {day}"),
    "certified": ("with the sign-off of {day}", "as signed off on {day}"),
    "unconfirmed": ("going by a proposal of {day}", "as proposed on {day}"),
}
RUN_ON = ("in a run of {day}", "as run on {day}")
