"""Sentences of documents that would suit a person, a town, a firm, a device or a study alike, and those of each kind."""

OPENINGS: dict[str, tuple[str, ...]] = {
    "register entry": (
        "This entry was set down for {subject} after the yearly review, and it replaces a loose sheet in the folder.",
        "The keepers of the register went through the papers on {subject} once more before they copied them here.",
        "An entry for {subject} was asked for by several readers, and what could be found was put in order.",
        "The page on {subject} had grown hard to read, so {author} wrote it anew from the older notes.",
    ),
    "news report": (
        "Readers who have followed {subject} through the winter will find some of this familiar.",
        "There was a good deal of talk about {subject} this week, and not all of it was careful.",
        "In {place} people stopped at the corner to ask what there was to say about {subject}.",
        "A reporter spent the better part of a week with everybody who knew something of {subject}.",
    ),
    "field note": (
        "Notes on {subject}, taken in the open with a stiff wind and a pencil that would not keep its point.",
        "Came back from {place} late and wrote this down at once, lest the part on {subject} should be lost.",
        "The visit was short, yet there was time to look into {subject} and to ask around.",
        "It rained through the morning, so the questions about {subject} were asked indoors.",
    ),
    "letter": (
        "You asked me what I know of {subject}, and I would rather write it down than say it in a hurry.",
        "Thank you for the parcel; in return you shall have what I could gather about {subject}.",
        "I promised to write as soon as there was something to say of {subject}, and now there is.",
        "Forgive the long silence; the matter of {subject} took more evenings than I had thought.",
    ),
    "minutes": (
        "The meeting was opened on time, and {subject} was the first point on the list.",
        "Those present agreed to take {subject} before the other points, because of the guests from {place}.",
        "{author} read the papers on {subject} aloud, after which there were questions.",
        "After the reading of the last minutes the chair turned to {subject}.",
    ),
    "guide": (
        "Visitors often ask about {subject}, and these pages are meant to spare them a search.",
        "Whoever comes to this for the first time does well to begin with {subject}.",
        "This chapter is about {subject}; the one after it is shorter and can be left out.",
        "There is more to {subject} than the usual leaflets say, and most of it is easy to follow.",
    ),
    "interview": (
        "We met in {place}, at a table by the window, and came to {subject} almost at once.",
        "Asked about {subject}, our guest put down the cup and thought for a while.",
        "The talk was meant to be about other things, but {subject} came up again and again.",
        "Nobody speaks about {subject} as readily as {author}, who agreed to answer our questions.",
    ),
    "catalogue note": (
        "The note on {subject} was written for the new edition and is a little longer than the old one.",
        "Under this heading the catalogue brings together what is on the shelves about {subject}.",
        "Much of what the catalogue says of {subject} was checked against the papers in {place}.",
        "For the sake of order {subject} has a note of its own, although other headings touch on it.",
    ),
}
TITLES: dict[str, tuple[str, ...]] = {
    "register entry": ("Register: {subject}", "{subject}, as entered", "Entry for {subject}"),
    "news report": ("What is said of {subject}", "{subject} in the news", "Another week with {subject}"),
    "field note": ("Notes on {subject}", "{subject}, seen on the way", "From the notebook: {subject}"),
    "letter": ("A letter about {subject}", "Concerning {subject}", "In answer to your question about {subject}"),
    "minutes": ("Minutes: {subject}", "Point one: {subject}", "The meeting on {subject}"),
    "guide": ("A short guide to {subject}", "{subject} for visitors", "Getting to know {subject}"),
    "interview": ("A conversation about {subject}", "Questions about {subject}", "Talking of {subject}"),
    "catalogue note": ("Catalogue: {subject}", "{subject}, with a note", "On the shelf: {subject}"),
}
MIDDLES: tuple[str, ...] = (
    "What people remember first is seldom what matters most, and so it is here.",
    "Some of the older papers contradict each other in small things, mostly in how names are spelled.",
    "The picture that comes out of all this is calm, and nobody seems to be in a hurry to change it.",
    "A few of the neighbours see it otherwise, but they too admit that the work was done with care.",
    "It helps to keep the plain facts apart from the stories that are told around them.",
    "There are drawings as well, though most of them are kept in a drawer that sticks.",
    "Whoever wants to know more has to ask in person, since hardly anything of it was ever printed.",
    "The question of who pays for the upkeep was put off until the autumn, as it is every year.",
    "Much was made of the weather in those days, which had little to do with it.",
    "In the end it was patience that settled the matter rather than any clever plan.",
    "The first attempt was clumsy, and everybody involved is glad to say so today.",
    "Those who come from further away tend to be surprised by how quiet it all is.",
    "A good part of the correspondence is friendly, and the rest is about missing spoons.",
    "One should not read too much into the gaps, for the papers were moved twice and got wet once.",
    "The tone of the discussion was polite throughout, even where opinions were far apart.",
    "It was suggested to paint everything green, a proposal that found few friends.",
    "Several people offered to help, and most of them came back on the second day too.",
    "No two accounts agree on the order of events, and perhaps the order matters little.",
    "There is a bench nearby on which such questions have been settled for as long as anyone recalls.",
    "What looks like an oversight turned out to be a habit, and a sensible one at that.",
    "The younger ones would like to see more of it done in the open, where everybody can watch.",
    "Every now and then somebody brings a cake, and then the talk lasts longer.",
    "For practical purposes the difference is small, yet it is worth a sentence.",
    "The archive has a box on this, labelled in a hand that only two people can read.",
    "A visitor once called it ordinary, and was corrected by a child.",
    "Opinions about the sound differ, but nobody has ever complained in writing.",
    "It would be wrong to call the arrangement new, since much of it was tried before.",
    "The costs were lower than feared, largely because the timber had been lying there anyway.",
    "Some doubts remain about the very early days, for which there is hardly any witness.",
    "On the whole the reports are favourable, and the unfavourable ones are short.",
    "More than one writer has praised the patience with which questions were answered.",
    "The rest is a matter of taste, and taste changes faster than the paperwork.",
)
ENDINGS: tuple[str, ...] = (
    "That is all that could be said with any confidence, and it is more than last year.",
    "Corrections are welcome and will be added at the foot of the page.",
    "So much for now; the next reader may add what is missing.",
    "The lamp was put out soon after, and everybody went home by the river.",
    "Whatever else turns up will be kept with the other papers.",
    "With that the matter was closed, at least until somebody opens it again.",
    "A copy of these lines was sent to those who had asked for them.",
    "It is late, and the rest can wait until there is more light.",
)
# How statements are set into a sentence; {clause} has subject and value.
FRAMES = (
    "{{as_of}}, {clause}.",
    "{{as_of}} it is known that {clause}.",
    "It was noted, {{as_of}}, that {clause}.",
    "Those who looked into it found that {clause}, {{as_of}}.",
    "One thing is plain, {{as_of}}: {clause}.",
    "It should be said that {clause}, {{as_of}}.",
)
# Other wordings of a relation's meaning, which is its name's plain clause.
CLAUSES: dict[str, tuple[str, ...]] = {
    "maker": ("{value} makes {subject}", "the maker of {subject} is {value}"),
    "designer": ("{value} designed {subject}", "the design of {subject} is by {value}"),
    "proof": ("{value} tried {subject} out", "the trial of {subject} was part of {value}"),
    "weight": ("{subject} has a weight of {value} grams", "the scales show {value} grams for {subject}"),
    "housing": ("{subject} has a housing of {value}", "{value} is what the housing of {subject} is made of"),
    "launch": ("the launch of {subject} was on {value}", "{subject} came out on {value}"),
    "seat": ("the seat of {subject} is in {value}", "{subject} is run from {value}"),
    "director": ("the director of {subject} is {value}", "{value} directs {subject}"),
    "supplier": ("{value} supplies most of the parts of {subject}", "most parts of {subject} come from {value}"),
    "staff": ("{subject} has {value} people on its staff", "the staff of {subject} counts {value} people"),
    "registration": ("the registration of {subject} is of {value}", "{subject} entered the register on {value}"),
    "hometown": ("the home town of {subject} is {value}", "{subject} spent a whole childhood in {value}"),
    "teacher": ("{value} taught {subject}", "the teacher of {subject} was {value}"),
    "employer": ("{subject} is employed by {value}", "the employer of {subject} is {value}"),
    "birth": ("the birthday of {subject} is {value}", "{subject} came into the world on {value}"),
    "members": ("{value} people took part in {subject}", "{subject} counted {value} participants"),
    "lead": ("{value} led {subject}", "the head of {subject} was {value}"),
    "site": ("{value} was the site of {subject}", "the work of {subject} was done in {value}"),
    "instrument": ("the instrument of {subject} was {value}", "{subject} took its readings with {value}"),
    "end": ("{subject} came to its end on {value}", "the last day of {subject} was {value}"),
    "mayor": ("{value} is the mayor of {subject}", "{subject} has {value} as its mayor"),
    "twin": ("the twin town of {subject} is {value}", "{subject} has a partnership of towns with {value}"),
    "trade": ("{value} gives work to most people in {subject}", "the greatest employer of {subject} is {value}"),
    "height": ("{subject} is {value} metres above the sea", "the height of {subject} above the sea is {value} metres"),
    "emblem": ("{subject} has a {value} as its emblem", "a {value} is the emblem of {subject}"),
}
QUESTION_FRAMES = (
    "What is {wanted}?",
    "Can you find out what {wanted} is?",
    "I am looking for {wanted}; what is it?",
    "Going by the documents, what is {wanted}?",
)
# Of a person, by how the noun phrase begins.
PERSON = ("the person ", "the mayor ")
WHO_FRAMES = (
    "Who is {wanted}?",
    "Can you find out who {wanted} is?",
    "I am looking for {wanted}; who is it?",
    "Going by the documents, who is {wanted}?",
)
OPTIONS_FRAMES = ("Which of these is {wanted}: {options}?", "What is {wanted}: {options}?")
