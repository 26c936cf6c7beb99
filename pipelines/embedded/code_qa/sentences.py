"""Sentences of a software team's notes that suit whatever was agreed on, and those of each kind of note."""

TITLES: dict[str, tuple[str, ...]] = {
    "review note": ("Review note, {date}", "Notes from the review of {date}", "After the review, {date}"),
    "ticket": ("Ticket, updated {date}", "Ticket of {date}", "Ticket, state of {date}"),
    "chat thread": ("Thread of {date}", "From the team channel, {date}", "Thread, {date}"),
    "commit message": ("Commit of {date}", "Commit message, {date}", "Log entry, {date}"),
    "meeting note": ("Meeting note, {date}", "Notes of the meeting on {date}", "Minutes, {date}"),
    "hand-over mail": ("Hand-over, {date}", "Mail before the leave, {date}", "Hand-over mail of {date}"),
}
OPENINGS: dict[str, tuple[str, ...]] = {
    "review note": (
        "{author} here, with what came up in the review and should not be lost again.",
        "Review by {author}; the small remarks went into the margin, the rest is below.",
        "I went through the branch twice, the second time without headphones. Signed {author}.",
        "These remarks are {author}'s and were read aloud before anybody pressed merge.",
    ),
    "ticket": (
        "Opened by {author}, who was asked about it three times in one morning.",
        "{author} reports this one and will look after it until somebody better is found.",
        "Reporter is {author}; the description was shortened because nobody read the long one.",
        "{author} moved this ticket up after the call, with the notes that belong to it.",
    ),
    "chat thread": (
        "{author}: putting this here before it scrolls away.",
        "{author}: since people keep asking in private, the answer goes into the channel.",
        "{author}: short version, because the long one was typed on a train and is gone.",
        "{author}: I promised to sum this thread up, so here it is.",
    ),
    "commit message": (
        "Keep the notes beside the change, so that they are found with it. Author is {author}.",
        "Tidy up after the review. {author} wrote this message at length on purpose.",
        "Small change, long message, says {author}; the diff does not explain itself.",
        "Follow up on the last change, which {author} had left half way.",
    ),
    "meeting note": (
        "Taken down by {author}, who came late and therefore had to write.",
        "{author} wrote the minutes; those who were absent may complain until Friday.",
        "We met in the small room, and {author} kept the list.",
        "The call began with the usual trouble with microphones; {author} took notes.",
    ),
    "hand-over mail": (
        "Hello all, this is what you need while I am gone. Yours, {author}.",
        "Dear team, {author} is off from tomorrow and leaves you these lines.",
        "Before I forget half of it on the beach, the rest is here. Best, {author}.",
        "{author} asked me to send this round, since the other mail got lost.",
    ),
}
MIDDLES: tuple[str, ...] = (
    "The build was slow today, which gave everybody time to read the old notes.",
    "Somebody had left a window open and the whiteboard had to be copied again.",
    "Half of the discussion was about wording and can be left out here.",
    "The flaky test was flaky once more, and once more nobody was surprised.",
    "We looked at the graphs together and they were as flat as they should be.",
    "There is a longer write-up in the drawer, but the parts that matter are in this one.",
    "The intern asked the best question of the day and got two different answers at first.",
    "No one objected in the end, although a few eyebrows went up.",
    "The old page still says something else and will be taken down as soon as somebody finds the password.",
    "It took a while to find out who had been told what, and in which order.",
    "The dashboards were green throughout, so there is nothing dramatic to report.",
    "Most of the time went into a detour that looked clever before lunch.",
    "The coffee machine was repaired, which did more for the release than any tool.",
    "Please read this twice before you ask, and then do ask.",
    "Names of people and of services are spelled here as they are in the directory.",
    "The rest of the backlog was left as it was, apart from two duplicates that were closed.",
    "The customer was patient and sent a cake instead of another screenshot.",
    "What was said in the corridor does not count, as we keep telling each other.",
    "Somebody suggested to write all of this in a diagram, and nobody has drawn it yet.",
    "The on-call phone rang once and it was a wrong number.",
    "We tried the other order first, and it made no difference that anybody could measure.",
    "The linter had opinions, most of which we followed.",
    "A few of the older scripts were deleted, and so far nobody misses them.",
    "The reviewers agreed more quickly than they usually do.",
    "The long discussion about tabs was moved to another day, as it is every time.",
    "Those who were on the train heard only parts of this, hence the notes.",
    "Nothing in the logs looked odd, except for the clock of one machine.",
    "The demo went well, and the part that did not was not shown.",
    "There were no questions from the other floor, which may mean anything.",
    "It is all less complicated than the thread makes it look.",
    "The pipeline was restarted by hand, with the usual apologies.",
    "Whoever picks this up next should begin at the end of the page.",
)
AFTER: tuple[str, ...] = (
    "All of this was read back to those present.",
    "That much for the things one has to know by heart.",
    "Those were the points; what follows is talk.",
    "So far nobody has asked to change any of it.",
)
ENDINGS: tuple[str, ...] = (
    "More when there is more.",
    "The next note will be shorter.",
    "If something is missing here, it was not said while I listened.",
    "Thanks to all who stayed until the end.",
    "Corrections go below this line, please.",
    "That is all for this week.",
    "See you in the next call.",
    "Now back to work.",
)
# How statements are set into a sentence; {clause} has subject and value.
FRAMES = (
    "{{as_of}}, {clause}.",
    "For the record, {{as_of}}, {clause}.",
    "To be clear, {clause}, {{as_of}}.",
    "Please keep in mind that {clause}, {{as_of}}.",
    "What stands is this, {{as_of}}: {clause}.",
    "One more point, {{as_of}}: {clause}.",
)
# Other wordings of a relation's meaning, which is its name's plain clause.
CLAUSES: dict[str, tuple[str, ...]] = {
    "entry": ("`{value}` is the only door through which {subject} reaches the package",),
    "exception": (
        "{subject} may go on calling `{value}`, which is its agreed exception",
        "the agreed exception of {subject} is the call `{value}`",
    ),
    "keeper": ("{subject} is looked after by {value}", "{value} is the keeper of {subject}"),
    "batch": (
        "{value} records at once are the most that {subject} hands over",
        "a batch of {subject} has at most {value} records",
    ),
    "fallback": ("{value} takes over when {subject} is down", "when {subject} is down its work goes to {value}"),
    "bad_input": ("{subject} has its bad input {value}", "{subject} wants its bad input {value}"),
    "freeze": ("the freeze of {subject} lasts until {value}", "nothing changes in {subject} until {value}"),
    "owner": ("our use of `{subject}` is for {value} to decide", "{value} has the last word on our use of `{subject}`"),
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
    "outcome": ("running `{subject}` comes to `{value}`", "what comes of `{subject}` is `{value}`"),
    "deputy": ("{value} is the deputy of {subject}", "whoever needs {subject} and gets no answer goes to {value}"),
    "works_in": ("{subject} belongs to {value}", "{value} is the team of {subject}"),
    "away": ("{subject} is on leave until {value}", "nobody reaches {subject} until {value}"),
    "head": ("the head of {subject} is {value}", "{subject} is led by {value}"),
    "duty": ("the duty for {value} is with {subject}", "{value} is on the duty list of {subject}"),
    "quota": ("{subject} has a quota of {value} tickets in a year", "{value} tickets in a year are the quota of {subject}"),
}
WHO_FRAMES = ("Who is {wanted}?", "I have to ask somebody: who is {wanted}?")
QUESTION_FRAMES = (
    "What is {wanted}?",
    "Going by our notes, what is {wanted}?",
    "I am new here; what is {wanted}?",
)
OPTIONS_FRAMES = ("Which of these is {wanted}: {options}?", "What is {wanted}: {options}?")
