"""Why somebody in the invented world writes a document, by what it states: who writes to whom, and what else belongs there."""

from collections.abc import Mapping

from assets.memory_items.facts import Status
from assets.memory_items.world.relations import Occasion

# Of what those concerned write as a matter of course.
ORDINARY: Mapping[str, tuple[Occasion, ...]] = {
    "maker": (
        Occasion("letter", "An owner asked where {subject} can be mended, and a shop answers who makes it.", ()),
        Occasion("notice", "A shop tells its customers for whom it takes orders of {subject} from now on.", ("weight",)),
    ),
    "designer": (
        Occasion("letter", "A museum answers a visitor who asked whose design {subject} is.", ("launch",)),
        Occasion("news", "A small show of drawings opens, and the paper says who designed {subject}.", ()),
    ),
    "proof": (
        Occasion("memo", "A buyer has to say where {subject} was tried out before an order is signed.", ()),
        Occasion("minutes", "A committee that lends out instruments notes where {subject} was tried out.", ("designer",)),
    ),
    "weight": (
        Occasion("letter", "A forwarder answers a sender who has to pay postage for {subject}.", ("housing",)),
        Occasion("notice", "A depot tells its carriers what to reckon with when they carry {subject}.", ()),
    ),
    "housing": (
        Occasion("memo", "A workshop orders material to mend a cracked housing of {subject}.", ("weight",)),
        Occasion("letter", "An owner asked how {subject} may be cleaned, which depends on its housing.", ()),
    ),
    "launch": (
        Occasion("news", "A shop window marks a round anniversary of the launch of {subject}.", ("maker",)),
        Occasion("letter", "An insurer asks for the launch of {subject}, to know its age.", ()),
    ),
    "seat": (
        Occasion("notice", "{subject} tells its customers where letters and goods go from now on.", ("director",)),
        Occasion("letter", "A letter to {subject} came back, and a business friend says where its seat is.", ()),
    ),
    "director": (
        Occasion("notice", "{subject} tells its business friends who signs for it from now on.", ("seat",)),
        Occasion("minutes", "The owners of {subject} meet, and put down who directs it.", ()),
    ),
    "supplier": (
        Occasion("minutes", "Deliveries to {subject} were late, and its works council asks where most parts come from.", ()),
        Occasion("memo", "A buyer of {subject} notes for the stores whose parts to expect most.", ("director",)),
    ),
    "staff": (
        Occasion("memo", "The fire office reckons the exits of {subject} from how many people it employs.", ()),
        Occasion("minutes", "A canteen is planned at {subject}, for as many people as it employs.", ("seat",)),
    ),
    "registration": (
        Occasion("letter", "A bank opens an account for {subject}, and needs to know since when it is registered.", ("seat",)),
        Occasion("memo", "A chamber of trade checks since when {subject} has to pay dues.", ()),
    ),
    "hometown": (
        Occasion("letter", "A society invites {subject} to speak, and asks a friend for words of introduction.", ("teacher",)),
        Occasion("news", "{subject} comes back for a visit to the town of childhood.", ()),
    ),
    "teacher": (
        Occasion("news", "{subject} is given a prize, and thanks the person who taught the trade.", ()),
        Occasion("letter", "An apprentice asked by whom {subject} was taught, and is answered.", ("hometown",)),
    ),
    "employer": (
        Occasion("letter", "A landlord asks for whom {subject} works, before a flat is let.", ()),
        Occasion("notice", "{subject} tells friends about a new place of work, and where to write to.", ()),
    ),
    "birth": (
        Occasion("memo", "A pension office reckons when {subject} may stop working.", ("hometown",)),
        Occasion("letter", "Friends plan a party and ask a cousin when {subject} was born.", ()),
    ),
    "members": (
        Occasion("memo", "An office reckons the postage for a letter of thanks to all who took part in {subject}.", ("lead",)),
        Occasion("minutes", "A board asks how many people took part in {subject}, before another grant is given.", ()),
    ),
    "lead": (
        Occasion("letter", "A student wants the data of {subject} and is told whom to ask, as the one who led it.", ("site",)),
        Occasion("notice", "A library says in whose name the papers of {subject} are kept: that of its leader.", ()),
    ),
    "site": (
        Occasion("memo", "Travel claims from {subject} are settled, for which its place is needed.", ("end",)),
        Occasion("news", "A plaque is put up where {subject} was carried out.", ()),
    ),
    "instrument": (
        Occasion("letter", "A laboratory wants to repeat {subject} and asks what was measured with.", ()),
        Occasion("minutes", "A store of instruments asks what {subject} had on loan.", ("lead",)),
    ),
    "end": (
        Occasion("minutes", "The accounts of {subject} are closed, for which its last day is needed.", ("site",)),
        Occasion("letter", "A foundation asks when {subject} was completed, as its report is due.", ()),
    ),
    "mayor": (
        Occasion("notice", "The town hall of {subject} says who is mayor, and when the office is open.", ()),
        Occasion("news", "A vote was held in {subject}, or a term went on, and the paper says who is mayor.", ("emblem",)),
    ),
    "twin": (
        Occasion("news", "A choir from the twin town of {subject} is expected, and beds are wanted.", ("mayor",)),
        Occasion("minutes", "The council of {subject} votes money for a visit to its twin town.", ()),
    ),
    "trade": (
        Occasion("memo", "The bus line of {subject} has to fit the shifts of the firm that employs most people there.", ()),
        Occasion("news", "Wages rise at the firm for which most people in {subject} work.", ("mayor",)),
    ),
    "height": (
        Occasion("notice", "A walking club sets its barometers at the station of {subject}.", ()),
        Occasion("memo", "A water board plans a pump for {subject}, and needs its height above the sea.", ()),
    ),
    "emblem": (
        Occasion("minutes", "A new flag is sewn for {subject}, with its emblem.", ("twin",)),
        Occasion("letter", "A printer asks what stands in the arms of {subject}, for a poster.", ()),
    ),
}
# The paper itself is certified, or nobody has checked what it passes on.
OF_STATUS: Mapping[Status, tuple[Occasion, ...]] = {
    "certified": (
        Occasion(
            "extract", "A registrar certifies, for somebody who has to hand it in, one line of the register on {subject}.", ()
        ),
        Occasion(
            "extract", "A notary certifies a copy of what an original says of {subject}, for use at a bank or a court.", ()
        ),
    ),
    "unconfirmed": (
        Occasion("memo", "A clerk notes what a caller said of {subject}, so that somebody checks it.", ()),
        Occasion(
            "letter", "Somebody passes on to a relative what was said on a journey about {subject}, and asks if it is true.", ()
        ),
        Occasion("news", "The paper prints what is being said about {subject}, while those concerned give no answer.", ()),
    ),
}
# Why what was said before holds no more, by what changed; of what never changes, how a mistake came about.
MISTAKES = (
    "a clerk had copied the line below",
    "an old form had been used",
    "a figure or a name had been misheard on the telephone",
    "two files had been mixed up",
    "it had been put down from memory",
)
CAUSES: Mapping[str, tuple[str, ...]] = {
    "maker": ("the former maker gave up this line", "the licence was sold"),
    "seat": ("the lease ran out", "the old building was flooded", "the yard had become too small"),
    "director": ("the former director retired", "the former director fell out with the owners", "an illness"),
    "supplier": ("the former supplier raised its prices", "the former supplier could not deliver for weeks"),
    "staff": ("a second shift was set up", "a workshop was closed", "a branch was taken over"),
    "employer": ("the former place was given up for less travelling", "the former firm cut its staff"),
    "mayor": ("the term of the former mayor ended", "the former mayor stepped down over a building contract"),
    "twin": ("the former partnership was given up after a quarrel over costs", "the former twin town was merged into another"),
    "trade": ("the former largest firm moved away", "a mill was closed"),
    "emblem": ("a neighbouring town claimed the former emblem", "the council had the arms drawn anew"),
}
