"""How this model states facts of a software team, and how it words questions."""

# How each kind of note states something; {clause} has subject and value.
FRAMES: dict[str, tuple[str, ...]] = {
    "bug report": (
        "{as_of}, {clause}.",
        "Known, {as_of}: {clause}.",
        "It may help to know that {clause}, {as_of}.",
        "{clause}, {as_of}.",
        "I was told, {as_of}, that {clause}.",
    ),
    "code review": (
        "Mind that {clause}, {as_of}.",
        "{as_of}, {clause}.",
        "We settled that {clause}, {as_of}.",
        "To be kept: {clause}, {as_of}.",
        "Nobody disputes, {as_of}, that {clause}.",
    ),
    "ticket": (
        "{clause}, {as_of}.",
        "On record, {as_of}: {clause}.",
        "{as_of}, {clause}.",
        "Update, {as_of}: {clause}.",
        "For whoever joins late, {as_of}: {clause}.",
    ),
    "incident note": (
        "It was established that {clause}, {as_of}.",
        "{as_of}, {clause}.",
        "The log of decisions has it, {as_of}, that {clause}.",
        "At the time {clause}, {as_of}.",
        "On file, {as_of}: {clause}.",
    ),
    "commit message": (
        "{as_of}, {clause}.",
        "Note that {clause}, {as_of}.",
        "See also, {as_of}: {clause}.",
        "This takes for granted that {clause}, {as_of}.",
        "{clause}, {as_of}.",
    ),
    "design note": (
        "Given, {as_of}: {clause}.",
        "{as_of}, {clause}.",
        "We start from this, {as_of}: {clause}.",
        "Fixed, {as_of}: {clause}.",
        "It holds that {clause}, {as_of}.",
    ),
}
# Other wordings of a relation's meaning, which is its name's plain clause.
CLAUSES: dict[str, tuple[str, ...]] = {
    "entry": (
        "`{value}` is the only function that {subject} imports from the package",
        "{subject} goes through `{value}` and nothing else of the package",
    ),
    "hot_call": (
        "`{value}` is what {subject} calls for every record",
        "for every record {subject} runs `{value}`",
    ),
    "blocker": ("{value} blocks {subject}", "{subject} cannot be rolled out before {value} is settled"),
    "deployed": ("{value} is deployed in {subject}", "{subject} still carries {value}"),
    "on_call": ("whoever has trouble with {subject} calls {value}", "{subject} has {value} on call"),
    "batch": (
        "{value} records at once are the most that {subject} hands over",
        "a batch of {subject} has at most {value} records",
    ),
    "bad_input": ("{subject} has its bad input {value}", "{subject} wants its bad input {value}"),
    "freeze": ("the freeze of {subject} lasts until {value}", "nothing changes in {subject} until {value}"),
    "repro": ("{subject} comes down to the call `{value}`", "whoever runs `{value}` sees {subject}"),
    "fault": ("`{value}` is at fault in {subject}", "{subject} was traced to `{value}`"),
    "cause": ("{value} is to blame for {subject}", "{subject} came with {value}"),
    "duplicate": ("{subject} is the same as {value}", "{subject} duplicates {value}"),
    "hit": ("{value} saw {subject} first", "{subject} came up in {value}"),
    "assignee": ("{subject} is with {value}", "{subject} is on the desk of {value}"),
    "verdict": ("we want {subject} {value}", "{subject} gets {value}"),
    "due": ("{value} is the day by which {subject} has to be settled", "{subject} is due by {value}"),
    "edit": ("all that {subject} does is turn `{value}`", "the diff of {subject} turns `{value}`"),
    "breaks": ("`{value}` goes wrong with {subject}", "the call that {subject} breaks is `{value}`"),
    "approver": ("{subject} was approved by {value}", "the approval of {subject} came from {value}"),
    "motive": ("the reason for {subject} was {value}", "{value} made us write {subject}"),
    "drop": ("{value} is the last day of {subject}", "{subject} goes away by {value}"),
    "owner": ("our use of `{subject}` is for {value} to decide", "{value} has the last word on our use of `{subject}`"),
    "tracker": ("our use of `{subject}` is tracked in {value}", "see {value} for our use of `{subject}`"),
    "input_limit": (
        "we give `{subject}` no more than {value} characters of input",
        "{value} characters are the most that `{subject}` gets from us as input",
    ),
    "wrapper": ("we call `{subject}` through our wrapper `{value}`", "`{value}` is our wrapper around `{subject}`"),
    "removal": (
        "{value} is the day by which our calls of `{subject}` are to be gone",
        "we stop calling `{subject}` by {value}",
    ),
    "exempt": ("our ban on `{subject}` holds for all but {value}", "nobody but {value} may call `{subject}` under our ban"),
    "successor": (
        "our new code calls `{value}` instead of `{subject}`",
        "in new code of ours `{subject}` gives way to `{value}`",
    ),
    "ruling": ("the assertion `{value}` is what {subject} settles", "with {subject} we settled on `{value}`"),
    "restriction": ("{value} is why we restrict `{subject}`", "our restriction of `{subject}` goes back to {value}"),
}
WHO_FRAMES = ("Who is {wanted}?", "I have to ask somebody: who is {wanted}?", "Before I merge this, who is {wanted}?")
QUESTION_FRAMES = (
    "What is {wanted}?",
    "Going by our notes, what is {wanted}?",
    "I am writing the post-mortem and need one thing: what is {wanted}?",
    "Before I touch this code, what is {wanted}?",
    "For the test that I am writing, what is {wanted}?",
    "I could not find it in the code: what is {wanted}?",
)
OPTIONS_FRAMES = (
    "Which of these is {wanted}: {options}?",
    "What is {wanted}: {options}?",
    "For the release notes, which of these is {wanted}: {options}?",
)
