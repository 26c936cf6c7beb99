"""The words in which this model asks about the invented world."""

from collections.abc import Mapping

from assets.recipe.document_tasks import Operation
from pipelines.embedded.memory_items.known_world import AskWords

NOUNS = {"place": "town"}
ASK_WORDS: Mapping[str, AskWords] = {
    "maker": AskWords("Which firm makes {x}?", "{x} is made by a firm", "maker"),
    "designer": AskWords("Who designed {x}?", "{x} was designed by somebody", "designer"),
    "proof": AskWords("In which study was {x} tried out?", "{x} was tried out in a study", "trial"),
    "weight": AskWords("How many grams does {x} weigh?"),
    "housing": AskWords("What is {x} housed in?"),
    "launch": AskWords("When was {x} launched?"),
    "seat": AskWords("Where does {x} have its seat?", "{x} has its seat in a town", "seat"),
    "director": AskWords("Who directs {x}?", "{x} is directed by somebody", "director"),
    "supplier": AskWords("Which firm mainly supplies {x}?", "{x} gets most parts from another firm", "supplier"),
    "staff": AskWords("How many people does {x} employ?"),
    "registration": AskWords("When was {x} registered?"),
    "hometown": AskWords("Where did {x} grow up?", "{x} grew up in a town", "hometown"),
    "teacher": AskWords("Who taught {x}?", "{x} was taught by somebody", "teacher"),
    "employer": AskWords("Which firm does {x} work for?", "{x} works for a firm", "employer"),
    "birth": AskWords("When was {x} born?"),
    "members": AskWords("How many participants did {x} have?"),
    "lead": AskWords("Who led {x}?", "{x} was led by somebody", "leader"),
    "site": AskWords("Where was {x} carried out?", "{x} was carried out in a town", "site"),
    "instrument": AskWords("With which device did {x} measure?", "{x} measured with a device", "instrument"),
    "end": AskWords("When was {x} completed?"),
    "mayor": AskWords("Who is the mayor of {x}?", "{x} has a mayor", "mayor"),
    "twin": AskWords("Which town is {x} twinned with?", "{x} is twinned with another town", "twin town"),
    "trade": AskWords("Which firm employs most people in {x}?", "most people in {x} work for one firm", "main employer"),
    "height": AskWords("How high is {x}, in metres?"),
    "emblem": AskWords("What is the emblem of {x}?"),
}
# Questions that work something out, by operation and by what is compared; {parts} are subjects, or lead to them.
OPERATION_FRAMES: Mapping[Operation, Mapping[str, str]] = {
    "sum": {
        "staff": "How many people do {parts} employ together?",
        "weight": "How many grams do {parts} weigh together?",
        "members": "How many participants did {parts} have together?",
    },
    "difference": {
        "staff": "By how many people do the staffs of {parts} differ?",
        "weight": "By how many grams do the weights of {parts} differ?",
        "members": "By how many participants do {parts} differ?",
        "height": "By how many metres do {parts} differ in height?",
        "launch": "How many days lie between the launches of {parts}?",
        "registration": "How many days lie between the registrations of {parts}?",
        "birth": "How many days lie between the births of {parts}?",
        "end": "How many days lie between the last days of {parts}?",
    },
    "order": {
        "staff": "In which order do {parts} come by staff?",
        "weight": "In which order do {parts} come by weight?",
        "members": "In which order do {parts} come by participants?",
        "height": "In which order do {parts} come by height?",
        "launch": "In which order were {parts} launched?",
        "registration": "In which order were {parts} registered?",
        "birth": "In which order were {parts} born?",
        "end": "In which order were {parts} completed?",
    },
    "count": {
        "maker": "How many devices does {parts} make?",
        "designer": "How many devices did {parts} design?",
        "proof": "How many devices were tried out in {parts}?",
        "seat": "How many firms have their seat in {parts}?",
        "director": "How many firms does {parts} direct?",
        "supplier": "How many firms does {parts} mainly supply?",
        "hometown": "How many people grew up in {parts}?",
        "teacher": "How many people were taught by {parts}?",
        "lead": "How many studies were led by {parts}?",
        "site": "How many studies were carried out in {parts}?",
        "instrument": "How many studies measured with {parts}?",
    },
    "weigh": {
        "staff": "How far off is the unconfirmed staff of {parts}?",
        "weight": "How far off is the unconfirmed weight of {parts}?",
        "members": "How far off is the unconfirmed number of participants of {parts}?",
        "height": "How far off is the unconfirmed height of {parts}?",
        "launch": "How far off is the unconfirmed launch date of {parts}?",
        "registration": "How far off is the unconfirmed registration date of {parts}?",
        "birth": "How far off is the unconfirmed birth date of {parts}?",
        "end": "How far off is the unconfirmed completion date of {parts}?",
    },
}
# The sentence that takes the one among several about which something else is asked.
GREATEST: Mapping[str, str] = {
    "staff": "Take whichever of {parts} employs the most people",
    "weight": "Take whichever of {parts} weighs the most",
    "members": "Take whichever of {parts} had the most participants",
    "height": "Take whichever of {parts} lies highest above the sea",
    "launch": "Take whichever of {parts} was launched last",
    "registration": "Take whichever of {parts} was registered last",
    "birth": "Take whichever of {parts} was born last",
    "end": "Take whichever of {parts} was completed last",
}
