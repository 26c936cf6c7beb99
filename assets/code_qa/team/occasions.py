"""Why somebody of a team writes a note, by what it states: what happened, who writes to whom, and what else belongs there."""

from collections.abc import Mapping

from assets.memory_items.world.relations import Occasion

ORDINARY: Mapping[str, tuple[Occasion, ...]] = {
    "entry": (
        Occasion(
            "code review", "A change adds an import to {subject}; the reviewer says through what it reaches the package.", ()
        ),
        Occasion("design note", "Before the upgrade somebody asks what {subject} takes from the package.", ()),
    ),
    "hot_call": (
        Occasion("incident note", "{subject} was slow last night, and the note says what it calls for every record.", ()),
        Occasion("design note", "Somebody wants to cache what {subject} calls for every record.", ("batch",)),
    ),
    "blocker": (
        Occasion("ticket", "Support asks why {subject} is not rolled out yet.", ("freeze",)),
        Occasion("incident note", "An old version of {subject} failed, as the new one is held up.", ()),
    ),
    "deployed": (
        Occasion("incident note", "{subject} gave other results than a laptop, since it runs with a patch.", ("on_call",)),
        Occasion("ticket", "Somebody who rebuilds {subject} asks which patch has to go in.", ()),
    ),
    "on_call": (
        Occasion("incident note", "An alarm of {subject} reached nobody, and the note says who is called from now on.", ()),
        Occasion("ticket", "The rota of {subject} is handed over.", ("freeze",)),
    ),
    "batch": (
        Occasion("incident note", "{subject} ran out of memory, and the size of what it hands over was looked at.", ()),
        Occasion("design note", "The size of what {subject} hands over is chosen before a load test.", ("bad_input",)),
    ),
    "bad_input": (
        Occasion("ticket", "{subject} got records that it cannot read, and support asks where they end up.", ()),
        Occasion(
            "incident note",
            "Half a file was missing behind {subject}, and the note says what is done with bad input.",
            ("on_call",),
        ),
    ),
    "freeze": (
        Occasion("code review", "A change of {subject} is ready, and the reviewer says until when nothing is merged.", ()),
        Occasion("ticket", "A customer's audit keeps {subject} as it is for a while.", ("on_call",)),
    ),
    "repro": (
        Occasion("bug report", "Somebody cut {subject} down to the shortest call that shows it.", ()),
        Occasion("code review", "A fix of {subject} comes without a test, and the reviewer names the call to test.", ()),
    ),
    "fault": (
        Occasion("bug report", "The search for the place behind {subject} came to an end.", ()),
        Occasion("commit message", "A guard is added because of {subject}, at the function where its fault lies.", ()),
    ),
    "cause": (
        Occasion("incident note", "A bisect shows where {subject} comes from.", ()),
        Occasion("bug report", "{subject} began on the day of a deployment, and the patch of that day is named.", ("hit",)),
    ),
    "duplicate": (
        Occasion("ticket", "Triage closes {subject}, as it is known under another number.", ()),
        Occasion("bug report", "The reporter of {subject} is told where to follow it.", ()),
    ),
    "hit": (
        Occasion("bug report", "Who has to reproduce {subject} asks where it was first seen.", ()),
        Occasion("incident note", "The note on {subject} begins with the service that saw it first.", ("assignee",)),
    ),
    "assignee": (
        Occasion("ticket", "{subject} changes hands before a holiday.", ("due",)),
        Occasion("code review", "A reviewer asks who works on {subject}, before a second fix is begun.", ()),
    ),
    "verdict": (
        Occasion("ticket", "Triage decides what happens with {subject}.", ("due",)),
        Occasion("design note", "The options for {subject} are weighed, and one is taken.", ()),
    ),
    "due": (
        Occasion("ticket", "A release is planned, and {subject} gets a day by which it has to be settled.", ("assignee",)),
        Occasion("incident note", "After the outage the follow-up {subject} gets its last day.", ()),
    ),
    "edit": (
        Occasion("commit message", "{subject} changes one place, and says which.", ("motive",)),
        Occasion("code review", "The reviewer of {subject} reads its one changed line.", ("approver",)),
    ),
    "breaks": (
        Occasion("incident note", "A nightly run stopped after {subject} went in, and the note names the call.", ()),
        Occasion("code review", "The reviewer of {subject} found a call that no longer does what it did.", ()),
    ),
    "wrong_result": (
        Occasion("bug report", "Somebody ran a call with {subject} applied, and shows what came out.", ()),
        Occasion("code review", "The reviewer of {subject} shows what a call gives with it.", ("approver",)),
    ),
    "approver": (
        Occasion("code review", "{subject} was merged, and an auditor asks who approved it.", ("motive",)),
        Occasion("commit message", "{subject} is carried over to the new branch, with the name of who approved it.", ()),
    ),
    "motive": (
        Occasion("commit message", "{subject} is rebased, and says once more why it was made.", ("drop",)),
        Occasion("design note", "Somebody wants to get rid of {subject} and asks what it was made for.", ()),
    ),
    "drop": (
        Occasion("commit message", "The package mended what {subject} works around, so it gets a last day.", ()),
        Occasion("ticket", "The list of patches is cleaned up, and {subject} gets a last day.", ("approver",)),
    ),
    "owner": (
        Occasion(
            "design note", "Two services want different things of {subject}, and it is settled who decides.", ("tracker",)
        ),
        Occasion("code review", "The reviewer of a new call of {subject} says whose consent it takes.", ()),
    ),
    "tracker": (
        Occasion("code review", "The reviewer of a call of {subject} asks for the number of the ticket in a comment.", ()),
        Occasion(
            "commit message",
            "A comment beside our call of {subject} gets the ticket under which our use is tracked.",
            ("owner",),
        ),
    ),
    "input_limit": (
        Occasion("code review", "A caller hands {subject} whole files, and the reviewer names the limit.", ()),
        Occasion("design note", "A load test of {subject} is over, and a limit for its input is fixed.", ("owner",)),
    ),
    "wrapper": (
        Occasion("code review", "A caller takes {subject} directly, and the reviewer names the wrapper.", ()),
        Occasion("commit message", "Callers of {subject} are moved to the wrapper around it.", ("owner",)),
    ),
    "removal": (
        Occasion("design note", "We stop using {subject}, and a last day for our calls is set.", ("owner",)),
        Occasion("code review", "A change adds a call of {subject}, which is on its way out of our code.", ("tracker",)),
    ),
    "exempt": (
        Occasion("code review", "A new service calls {subject}, which all but one may not.", ()),
        Occasion("design note", "Our ban on {subject} gets its one exception.", ("restriction",)),
    ),
    "successor": (
        Occasion("design note", "{subject} is on its way out of our code, and new code needs something else.", ("removal",)),
        Occasion("code review", "A change calls {subject} once more, and the reviewer says what new code takes.", ()),
    ),
    "restriction": (
        Occasion("design note", "A new colleague asks why {subject} may be used in few places only.", ("owner",)),
        Occasion("commit message", "A lint rule for {subject} is added, and the message says why.", ()),
    ),
    "outcome": (
        Occasion("bug report", "Somebody ran a call because the documentation leaves open what comes out.", ()),
        Occasion("code review", "A reviewer doubts a comment and shows what the call gives.", ()),
    ),
}
# Why what was agreed before holds no more, by what kind of value changed.
CAUSES: Mapping[str, tuple[str, ...]] = {
    "person": ("the one before moved to another team", "the one before is on leave", "the work was too much for one"),
    "date": ("the upgrade of the host was put off", "a customer asked for another day"),
    "number": ("a load test came out otherwise", "the new host has another amount of memory"),
    "option": ("a customer objected", "an audit asked for it", "the first choice did not work on the staging host"),
    "ticket": ("the tickets were sorted anew",),
    "service": ("the services were cut otherwise",),
    "function": ("a test showed that the first guess was wrong",),
    "patch": ("a second bisect came out otherwise",),
    "call": ("a shorter call was found",),
    "wrapper": ("the name clashed with another one",),
}
