"""How this model states facts of a software team, and how it words questions."""

from collections.abc import Mapping

from assets.recipe.document_tasks import Operation
from pipelines.embedded.memory_items.known_world import AskWords

# Other wordings of a relation's meaning, which is its name's plain clause.
CLAUSES: dict[str, tuple[str, ...]] = {
    "entry": (
        "`{value}` is the only function of the package that {subject} imports",
        "{subject} goes through `{value}` and nothing else of the package",
    ),
    "probe": ("`{value}` is what the health check of {subject} runs", "the probe of {subject} makes the call `{value}`"),
    "blocker": ("{value} blocks {subject}", "{subject} cannot be rolled out before {value} is settled"),
    "required": ("{subject} has to be built with {value}", "{value} goes into the image of {subject}"),
    "on_call": ("whoever has trouble with {subject} calls {value}", "{subject} has {value} on call"),
    "batch": (
        "a batch of {value} records is the most that {subject} takes",
        "a batch of {subject} has at most {value} records",
    ),
    "bad_input": ("unreadable records of {subject} are {value}", "what {subject} cannot read is {value}"),
    "end": ("{value} is the last day of {subject}", "{subject} runs until {value} and is then switched off"),
    "tested": ("the test of {subject} makes the call `{value}`", "`{value}` is the call in the test for {subject}"),
    "fault": ("`{value}` is at fault in {subject}", "{subject} was traced to `{value}`"),
    "cause": ("{value} is to blame for {subject}", "{subject} came with {value}"),
    "duplicate": ("{subject} is the same as {value}", "{subject} duplicates {value}"),
    "hit": ("{value} saw {subject} first", "{subject} came up in {value}"),
    "assignee": ("{subject} is with {value}", "{subject} is on the desk of {value}"),
    "verdict": ("we want {subject} {value}", "{subject} gets {value}"),
    "due": ("{value} is the day on which {subject} is due", "{subject} has to be done by {value}"),
    "edit": ("all that {subject} does is turn `{value}`", "the diff of {subject} turns `{value}`"),
    "breaks": ("`{value}` goes wrong with {subject}", "the call that {subject} breaks is `{value}`"),
    "approver": ("{subject} was approved by {value}", "the approval of {subject} came from {value}"),
    "motive": ("the reason for {subject} was {value}", "{value} made us write {subject}"),
    "drop": ("{value} is the last day of {subject}", "{subject} goes away on {value}"),
    "owner": ("questions on `{subject}` go to {value}", "whoever is in doubt about `{subject}` asks {value}"),
    "tracker": ("our use of `{subject}` is tracked in {value}", "see {value} for our use of `{subject}`"),
    "cached": ("we keep {value} results of `{subject}` at most", "the cache around `{subject}` holds {value} results"),
    "wrapper": ("we call `{subject}` through our wrapper `{value}`", "`{value}` is what we wrap `{subject}` in"),
    "removal": (
        "{value} is the day on which our last call of `{subject}` goes",
        "we stop calling `{subject}` by {value}",
    ),
    "origin": ("we first used `{subject}` in {value}", "we have had `{subject}` since {value}"),
    "successor": (
        "our new code calls `{value}` instead of `{subject}`",
        "in new code of ours `{subject}` gives way to `{value}`",
    ),
    "ruling": ("the assertion `{value}` is what {subject} settles", "with {subject} we settled on `{value}`"),
    "use": (
        "{value} is why we call `{subject}` and wrote nothing of our own",
        "we call `{subject}`, and have no code of our own for it, because of {value}",
    ),
}
OPERATION_FRAMES: Mapping[Operation, Mapping[str, str]] = {
    "which_of_two": {
        "batch": "Which of {parts} takes more records per batch?",
        "end": "Which of {parts} is switched off later?",
        "due": "Which of {parts} is due later?",
        "drop": "Which of {parts} is dropped later?",
        "cached": "Of which of {parts} do we cache more results?",
        "removal": "Which of {parts} may be called longer?",
    }
}
ASK_WORDS: Mapping[str, AskWords] = {
    "entry": AskWords("Which function does {x} call?", "{x} calls one function of the package", "entry function"),
    "probe": AskWords("Which call does the health check of {x} make?", "the health check of {x} makes one call", "probe call"),
    "blocker": AskWords("Which ticket holds up {x}?", "{x} waits for a ticket", "blocking ticket"),
    "required": AskWords("Which patch does {x} carry?", "{x} carries a patch", "carried patch"),
    "on_call": AskWords("Who is on call for {x}?"),
    "batch": AskWords("How many records does {x} take per batch?"),
    "bad_input": AskWords("What happens to unreadable records of {x}?"),
    "end": AskWords("When is {x} switched off?"),
    "tested": AskWords("Which call is in the test for {x}?", "the test for {x} makes one call", "tested call"),
    "fault": AskWords("Which function is at fault in {x}?", "{x} comes from a fault in one function", "faulty function"),
    "cause": AskWords("Which patch caused {x}?", "{x} was caused by a patch", "culprit patch"),
    "duplicate": AskWords("Which ticket does {x} duplicate?", "{x} duplicates another ticket", "original ticket"),
    "hit": AskWords("Which service saw {x} first?", "{x} was first seen in a service", "first service"),
    "assignee": AskWords("Who works on {x}?"),
    "verdict": AskWords("What did we decide to do with {x}?"),
    "due": AskWords("When is {x} due?"),
    "edit": AskWords("What exactly did {x} change in the code?"),
    "breaks": AskWords("Which call does {x} break?", "{x} breaks one call", "broken call"),
    "wrong_result": AskWords("What does the broken call give with {x}?"),
    "approver": AskWords("Who approved {x}?"),
    "motive": AskWords("What made {x} necessary?"),
    "drop": AskWords("When will {x} be dropped?"),
    "owner": AskWords("Who is the one to ask about {x}?"),
    "tracker": AskWords("Which ticket tracks our use of {x}?", "our use of {x} is tracked in a ticket", "tracking ticket"),
    "cached": AskWords("How many results of {x} does our cache hold?"),
    "wrapper": AskWords("What do we call our wrapper of {x}?"),
    "removal": AskWords("By when are we to be rid of {x}?"),
    "origin": AskWords("In which service did we first use {x}?", "we first used {x} in a service", "first user"),
    "successor": AskWords("What does new code use instead of {x}?", "new code replaces {x} by another function", "successor"),
    "use": AskWords("Why did we take {x}?"),
    "outcome": AskWords("What does {x} give without our patches?"),
}
