"""How this model states facts of the invented world."""

# How each form of document states something, beside tables; {clause} has subject and value.
FRAMES: dict[str, tuple[str, ...]] = {
    "minutes": (
        "It was read into the record that {clause}, {as_of}.",
        "The entry runs: {clause}, {as_of}.",
        "The meeting was told that {clause}, {as_of}.",
        "The secretary noted that {clause}, {as_of}.",
        "In answer to a question it was stated that {clause}, {as_of}.",
    ),
    "report": (
        "{as_of}, {clause}.",
        "{clause}, {as_of}.",
        "The file shows that {clause}, {as_of}.",
        "It is on file that {clause}, {as_of}.",
        "The papers show, {as_of}, that {clause}.",
    ),
    "letter": (
        "I can tell you that {clause}, {as_of}.",
        "You will want to know that {clause}, {as_of}.",
        "As far as I can see, {clause}, {as_of}.",
        "From the papers I learned, {as_of}, that {clause}.",
        "By the way, {clause}, {as_of}.",
    ),
    "news": (
        "{as_of}, {clause}.",
        "Papers seen by this newspaper say that {clause}, {as_of}.",
        "In our archive it says that {clause}, {as_of}.",
        "Documents on file state that {clause}, {as_of}.",
        "Readers may recall that {clause}, {as_of}.",
    ),
    "review": (
        "For the record: {clause}, {as_of}.",
        "We found in the papers that {clause}, {as_of}.",
        "{as_of}, {clause}.",
        "On paper, {clause}, {as_of}.",
        "The papers have it that {clause}, {as_of}.",
    ),
}
# Other wordings of a relation's meaning, which is its name's plain clause.
CLAUSES: dict[str, tuple[str, ...]] = {
    "maker": (
        "{value} makes {subject}",
        "the maker of {subject} is {value}",
        "{subject} comes out of the workshops of {value}",
        "production of {subject} is in the hands of {value}",
    ),
    "designer": (
        "{value} designed {subject}",
        "the design of {subject} is by {value}",
        "the drawings of {subject} were made by {value}",
        "{subject} goes back to a design by {value}",
    ),
    "proof": (
        "{value} tried {subject} out",
        "the trial of {subject} was part of {value}",
        "{subject} had its field trial in {value}",
        "it was in {value} that {subject} was tried out",
    ),
    "weight": (
        "{subject} has a weight of {value} grams",
        "the scales show {value} grams for {subject}",
        "{subject} comes to {value} grams on the scales",
        "{value} grams is the weight of {subject}",
    ),
    "housing": (
        "{subject} has a housing of {value}",
        "{value} is what the housing of {subject} is made of",
        "{value} was used for the housing of {subject}",
        "{subject} sits in a housing of {value}",
    ),
    "launch": (
        "the launch of {subject} was on {value}",
        "{subject} came out on {value}",
        "{subject} went on sale on {value}",
        "{value} was the day of the launch of {subject}",
    ),
    "seat": (
        "the seat of {subject} is in {value}",
        "{subject} is run from {value}",
        "{value} is the seat of {subject}",
        "the head office of {subject} is in {value}",
    ),
    "director": (
        "the director of {subject} is {value}",
        "{value} directs {subject}",
        "the management of {subject} lies with {value}",
        "{subject} has {value} as its director",
    ),
    "supplier": (
        "{value} supplies most of the parts of {subject}",
        "most parts of {subject} come from {value}",
        "{subject} gets most of its parts from {value}",
        "{value} is the main supplier of {subject}",
    ),
    "staff": (
        "{subject} has {value} people on its staff",
        "the staff of {subject} counts {value} people",
        "{value} people work at {subject}",
        "the payroll of {subject} has {value} people on it",
    ),
    "registration": (
        "the registration of {subject} dates from {value}",
        "{subject} entered the register on {value}",
        "{subject} has been registered since {value}",
        "{value} is the day of registration of {subject}",
    ),
    "hometown": (
        "the home town of {subject} is {value}",
        "{subject} spent a whole childhood in {value}",
        "{value} is where {subject} grew up",
        "{subject} was brought up in {value}",
    ),
    "teacher": (
        "{value} taught {subject}",
        "the teacher of {subject} was {value}",
        "{subject} learned the trade from {value}",
        "{subject} had {value} as a teacher",
    ),
    "employer": (
        "{subject} is employed by {value}",
        "the employer of {subject} is {value}",
        "{subject} is on the payroll of {value}",
        "{value} employs {subject}",
    ),
    "birth": (
        "the birthday of {subject} is {value}",
        "{subject} came into the world on {value}",
        "{subject} has a birthday on {value}",
        "{value} is the date of birth of {subject}",
    ),
    "members": (
        "{value} people took part in {subject}",
        "{subject} counted {value} participants",
        "the number of participants of {subject} was {value}",
        "{subject} had {value} people taking part",
    ),
    "lead": (
        "{value} led {subject}",
        "the head of {subject} was {value}",
        "{subject} was headed by {value}",
        "{value} was in charge of {subject}",
    ),
    "site": (
        "{value} was the site of {subject}",
        "the work of {subject} was done in {value}",
        "{subject} took place in {value}",
        "{value} was the place where {subject} was carried out",
    ),
    "instrument": (
        "the instrument of {subject} was {value}",
        "{subject} took its readings with {value}",
        "the readings of {subject} were taken with {value}",
        "{value} did the measuring in {subject}",
    ),
    "end": (
        "{subject} came to its end on {value}",
        "the last day of {subject} was {value}",
        "{subject} was brought to a close on {value}",
        "{value} was the closing day of {subject}",
    ),
    "mayor": (
        "{value} is the mayor of {subject}",
        "{subject} has {value} as its mayor",
        "the office of mayor of {subject} is held by {value}",
        "{value} heads the council of {subject} as mayor",
    ),
    "twin": (
        "the twin town of {subject} is {value}",
        "{subject} has a partnership of towns with {value}",
        "{value} and {subject} are twin towns",
        "{subject} has {value} for its twin town",
    ),
    "trade": (
        "{value} gives work to most people in {subject}",
        "the greatest employer of {subject} is {value}",
        "{value} is the largest employer in {subject}",
        "most working people of {subject} are with {value}",
    ),
    "height": (
        "{subject} is {value} metres above the sea",
        "the height of {subject} above the sea is {value} metres",
        "{subject} lies at {value} metres above the sea",
        "{value} metres is the height of {subject} above the sea",
    ),
    "emblem": (
        "{subject} has a {value} as its emblem",
        "a {value} is the emblem of {subject}",
        "the arms of {subject} show a {value}",
        "{subject} carries a {value} in its arms",
    ),
}
