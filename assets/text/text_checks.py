"""Checks of what makes a generated text unfit: it spells a value, or its form gives something away or is no proper prose.

A text with a fault goes back to its writer. Faults that an assistant could exploit, or that nobody should publish, block in
the end; the others are advice. The stages, the rules and the quality report apply the same checks.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import combinations
from typing import Literal, Self

from assets.text.calendar_faults import calendar_fault
from assets.text.closed_places import closed_fault, room_fault
from assets.text.contact_data import contact_data
from assets.text.kinship import role_fault
from assets.text.languages import FORMS, LanguageForms, common_words
from assets.text.near_spelling import copies_value, nearly_spells
from assets.text.spacing import ODD_SPACE
from assets.text.words import count_tokens, is_distinctive, spells, words_of

# None of these reads on past a place where it could begin anew, so that time grows with a text's length alone.
PLACEHOLDER = re.compile(
    r"\[[^\]\d\n]{2,40}\](?!\()|(?<!\{)\{{2,}(?:(?!\{\{).)*?\}\}|\$\{\w+\}|%\(\w+\)s"
    r"|\{(?:name|user|city|date|place|number|value|[a-z]+_[a-z_]+)\}"
    r"|<(?:your|my|insert|name|user|city|date|value|variable)\b[^>\n]{0,40}>|\blorem ipsum\b|\binsert (?:\w+ )?here\b|_{3,}"
    r"|\b(?:TODO|TBD|FIXME|XXX+|XYZ|N/A|PLACEHOLDER)\b|\[[ _x.…]*\]|【[^】\n]{1,20}】|\((?:insert|fill in)\b[^)\n]{1,40}\)"
)
MARKUP = re.compile(
    r"^ {0,3}#{1,6} |\*\*[^*\n]+\*\*|__[^_\n]+__|`[^`\n]+`|```|^[^\S\n]*(?:[-*•]|\d{1,2}[.)])\s+\S"
    r"|</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|\[[^\[\]\n]+\]\((?:[^)\]\n]|\](?!\())+\)"
    r"|\\(?:text|frac|item|begin|section|emph)\{|^\|.*\|\s*$|&(?:amp|lt|gt|nbsp|quot);",
    re.MULTILINE,
)
IDENTIFIER = re.compile(
    r"\bq\d{2,}(?:-[cv]\d+)?\b|\b[^\W_]+(?:_[^\W_]+)+\b"
    r"|\b(?i:variante?|option|opci[oó]n|opzione|opção|choice|situation|answer|antwort|вариант|选项|選択肢)"
    r"[ #-]?(?:\d{1,2}|[A-F])\b"
    # As options are numbered: (b) at the beginning, or b) before its text.
    r"|^\s*(?:\([A-Ha-h\d]\)|[A-Ha-h]\)|[B-H]\.)\s"
)
MOJIBAKE = re.compile("\ufffd|[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac|\u00d0[\u0080-\u00bf]\u00d1|\u00e3\u0081|\u00f0\u0178")
TextKind = Literal["query", "answer", "question", "event", "summary", "profile"]
WORD = re.compile(r"[^\W\d_]+")
PatternOf = Callable[[LanguageForms], re.Pattern[str] | None]
IN_OTHER_WORDS = "leave these words out, and let circumstances show what they mean."
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
MIN_FOREIGN_WORDS = 3
MIN_FOREIGN_WORDS_ALONE = 2  # in a whole text that has no word of its own language
MIN_FOREIGN_WORDS_OF_A_QUESTION = 1  # as it is short, and hardly has none of its own language's question words
MIN_SENTENCE_WORDS = 5  # shorter sentences may be names and titles of another language
MIN_LETTERS = 12  # from which a text has some of the letters that its language always has
LENGTHS: dict[TextKind, tuple[int, int]] = {  # in tokens
    "query": (5, 180),
    "answer": (15, 300),
    "question": (3, 80),
    "event": (2, 150),
    "summary": (2, 150),
}
NEAR_DUPLICATE = 0.9  # share of their words that two options, or two questions, have in common


@dataclass(frozen=True)
class TextInContext:
    """A generated text, and what decides whether it is fit.

    `own`: the values that it is about; `others`: values that it should not spell either. `name`: the user's. `variables`: the
    names of what changes in it. `day`: on which it is written, or what it tells of happened. `roles`: the names of the people
    and animals in the user's life, each by the relation or kind that it alone has. `rooms`: of the user's home, where known.
    """

    kind: TextKind
    text: str
    language: str
    own: Sequence[str] = ()
    others: Sequence[str] = ()
    name: str = ""
    variables: Sequence[str] = ()
    day: date | None = None
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    rooms: Sequence[str] = ()


@dataclass(frozen=True)
class TextCheck:
    """`fault` says what is wrong with a text, "" where nothing is; the sentence goes on after the text's number."""

    name: str
    truth: str
    fault: Callable[[TextInContext], str]
    blocking: bool = True


def _spelling_fault(context: TextInContext) -> str:
    """Look for the text's own values in whatever words; of the others only for such as it cannot have by chance."""
    values = dict.fromkeys((*context.own, *filter(is_distinctive, context.others)))
    copied = [value for value in values if spells(context.text, value)]
    if copied:
        # Without the sentence that does: a small model that reads it once more writes it once more.
        return f"spells the values {copied}; {IN_OTHER_WORDS}"
    common = common_words(context.language)
    nearly = [value for value in values if nearly_spells(context.text, value, ignored=common)]
    return f"nearly spells the values {nearly}; {IN_OTHER_WORDS}" if nearly else ""


def _copied_value(context: TextInContext) -> str:
    """Look for what lets a search for a value find the text; ordinary words that a value has too are no fault."""
    common = common_words(context.language)
    copied = [value for value in context.own if copies_value(context.text, value, ignored=common)]
    if not copied:
        return ""
    return f"has all words of {copied} side by side; keep the ordinary word, and tell the rest in another way."


def _names_variable(context: TextInContext) -> str:
    named = [name for name in context.variables if is_distinctive(name) and spells(context.text, name)]
    return f"only says that {named} changed; tell what happened, to whom or what, in other words." if named else ""


def _pattern_fault(pattern: re.Pattern[str], told: str) -> Callable[[TextInContext], str]:
    def fault(context: TextInContext) -> str:
        match = pattern.search(context.text)
        return f"{told} {match[0].strip()!r}; write plain sentences without it." if match else ""

    return fault


def _contact(context: TextInContext) -> str:
    found = contact_data(context.text)
    return f"has the contact data {found}; leave it out." if found else ""


def _foreign(context: TextInContext) -> str:
    """Judge the text, then each of its sentences: by the script, by letters of its neighbours, by common words."""
    alone = MIN_FOREIGN_WORDS_OF_A_QUESTION if context.kind == "question" else MIN_FOREIGN_WORDS_ALONE
    fault = _reads_foreign(context.text, context.language, alone=alone)
    if fault:
        return fault
    sentences = SENTENCE_END.split(context.text)
    for sentence in sentences if len(sentences) > 1 else ():
        long_enough = len(words_of(sentence)) >= MIN_SENTENCE_WORDS
        if long_enough and _reads_foreign(sentence, context.language, alone=MIN_FOREIGN_WORDS):
            return f"has a sentence in another language, {sentence!r}; write it in the language asked for."
    return ""


def _reads_foreign(text: str, language: str, *, alone: int) -> str:
    """Return the fault; `alone`: foreign words that tell where no word of the text's own language stands beside them."""
    letters = "".join(WORD.findall(text))
    own = FORMS.get(language)
    if own is None or not letters:
        return ""
    of_own_script = len("".join(re.findall(f"[{own.script}]+", letters)))
    long_enough = len(letters) >= MIN_LETTERS
    if (
        2 * of_own_script < len(letters)
        or (own.never and re.search(f"[{own.never}]", text))
        or (own.always and long_enough and not re.search(f"[{own.always}]", text))
    ):
        return "is written in another script than its language has; write it in the language asked for."
    words = Counter(WORD.findall(text.casefold()))
    theirs = Counter[str]()
    foreign = _foreign_words(language)
    for word in words.keys() & foreign.keys():
        for name in foreign[word]:
            theirs[name] += words[word]
    for name in filter(theirs.__getitem__, FORMS):
        ours = sum(words[word] for word in words.keys() & own.common - FORMS[name].common)
        least = MIN_FOREIGN_WORDS if ours else alone
        if theirs[name] >= max(least, 2 * ours + 1):
            return f"reads like the language {name!r}; write it in the language asked for."
    return ""


@cache
def _foreign_words(language: str) -> Mapping[str, Sequence[str]]:
    """Return the common words that the language does not have, each with the languages that have it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    own = FORMS[language].common
    for name, other in FORMS.items():
        # Words that both languages have tell nothing, and nothing is told of a language without any.
        for word in other.common - own if own else ():
            found[word].append(name)
    return found


def _length(context: TextInContext) -> str:
    least, most = LENGTHS[context.kind]
    tokens = count_tokens(context.text)
    return "" if least <= tokens <= most else f"has {tokens} tokens; write {least} to {most}."


def _lacks(pattern: PatternOf, told: str) -> Callable[[TextInContext], str]:
    def fault(context: TextInContext) -> str:
        wanted = _in_language(context, pattern)
        return told if wanted and not wanted.search(context.text) else ""

    return fault


def _in_language(context: TextInContext, pattern: PatternOf) -> re.Pattern[str] | None:
    forms = FORMS.get(context.language)
    return pattern(forms) if forms else None


def _speaks(pattern: PatternOf, told: str) -> Callable[[TextInContext], str]:
    """Looked for in the text's language and in English, in which models refuse and hedge whatever they are told."""

    def fault(context: TextInContext) -> str:
        for own in dict.fromkeys((_in_language(context, pattern), pattern(FORMS["en"]))):
            match = own.search(context.text) if own else None
            if match:
                return f"{told} {match[0].strip()!r}; write plain sentences without it."
        return ""

    return fault


def _own_name(context: TextInContext) -> str:
    """The full name, or the first name as it is written (some are ordinary words in small letters) and nobody who says I."""
    first = rf"(?<!\w){re.escape((context.name.split() or ['?'])[0])}(?!\w)"
    first_person = _in_language(context, lambda forms: forms.first_person)
    speaks = first_person is None or first_person.search(context.text)
    if context.name and (spells(context.text, context.name) or (re.search(first, context.text) and not speaks)):
        return "speaks of its own writer by name; say I and my, and ask for help with something."
    return ""


def _time_fault(context: TextInContext) -> str:
    if context.day is None:
        return ""
    # A record of a day may name its month, and tells of that day alone; somebody who speaks on it says when it was.
    spoken = context.kind == "query"
    ahead = calendar_fault(context.text, day=context.day, language=context.language, own_month=not spoken)
    return ahead or closed_fault(context.text, day=context.day, language=context.language, of_the_day=context.kind == "event")


def _cast_fault(context: TextInContext) -> str:
    tracked = (*context.own, *context.others)  # a place at home that a variable tracks
    return role_fault(context.text, context.roles, name=context.name, language=context.language) or room_fault(
        context.text, context.rooms, tracked=tracked, language=context.language
    )


def _odd_space(context: TextInContext) -> str:
    match = ODD_SPACE.search(context.text)
    return f"has the space {match[0]!r}, which a reader does not see; write single spaces." if match else ""


SPELLS_NOTHING = TextCheck("no_copied_value", "spell no value", _spelling_fault)
CONTACT = TextCheck("no_contact_data", "hold no contact data", _contact)
OWN_LANGUAGE = TextCheck("own_language", "are in the recipe's language", _foreign)
PROSE = (
    TextCheck("no_placeholder", "have no placeholder", _pattern_fault(PLACEHOLDER, "has the placeholder")),
    TextCheck("no_markup", "are plain text without markup", _pattern_fault(MARKUP, "has the markup")),
    TextCheck(
        "no_identifier",
        "name no option, variant or variable by its identifier",
        _pattern_fault(IDENTIFIER, "has the identifier"),
    ),
    CONTACT,
    TextCheck(
        "no_broken_letters", "have no letters broken by a wrong encoding", _pattern_fault(MOJIBAKE, "has the broken letters")
    ),
    TextCheck("plain_spaces", "have single ordinary spaces", _odd_space),
    TextCheck(
        "nothing_of_the_task",
        "begin with no remark to whoever asked for them, and name no right answer",
        _speaks(lambda forms: forms.task_talk, "speaks of the task, by"),
    ),
    OWN_LANGUAGE,
    TextCheck("usual_length", "are neither very short nor very long", _length, blocking=False),
)
OF_A_LIFE = (
    TextCheck(
        "own_time", "tell nothing as happened that lies after their day, or at a place that is closed on it", _time_fault
    ),
    TextCheck("own_people", "call the user's people and animals by their names, and the home's rooms alone", _cast_fault),
)
CHECKS: dict[TextKind, tuple[TextCheck, ...]] = {
    "query": (
        # Questions and options spell no value, so that an ordinary word of a query meets none of theirs.
        TextCheck("no_copied_value", "have no value's words side by side", _copied_value),
        *PROSE,
        *OF_A_LIFE,
        TextCheck("not_by_name", "speak in the first person, not of their writer by name", _own_name, blocking=False),
        TextCheck(
            "asks",
            "ask for something",
            _lacks(lambda forms: forms.request, "asks for nothing; end with a request."),
            blocking=False,
        ),
    ),
    "answer": (
        SPELLS_NOTHING,
        *PROSE,
        TextCheck("no_refusal", "refuse nothing", _speaks(lambda forms: forms.refusal, "refuses, by")),
        TextCheck(
            "no_hedge",
            "give advice rather than say that it depends",
            _speaks(lambda forms: forms.hedge, "hedges, by"),
            blocking=False,
        ),
        TextCheck(
            "no_situation",
            "advise, and give nobody's own situation back as a reason",
            _speaks(lambda forms: forms.tells_asker, "tells the person who asks about their own situation, by"),
            blocking=False,
        ),
    ),
    "question": (SPELLS_NOTHING, *PROSE),
    # No assistant reads events and summaries, so they may say a value as people do.
    "event": (
        *PROSE,
        *OF_A_LIFE,
        TextCheck("names_no_variable", "tell what happened, and name no variable", _names_variable, blocking=False),
    ),
    # Whatever else stands in a persona's texts is data, and condensing keeps it.
    "profile": (CONTACT, OWN_LANGUAGE),
    "summary": (*PROSE, *OF_A_LIFE),
}


def faults(context: TextInContext) -> Iterator[tuple[TextCheck, str]]:
    """Yield the checks that the text fails, each with what is wrong."""
    for check in CHECKS[context.kind]:
        fault = check.fault(context)
        if fault:
            yield check, fault


def blocking_faults(context: TextInContext) -> list[str]:
    return [fault for check, fault in faults(context) if check.blocking]


def near_duplicates(texts: Sequence[str], *, share: float = NEAR_DUPLICATE) -> Iterator[tuple[int, int]]:
    """Yield pairs of options or questions, by index, that share nearly all their words: no reader could tell them apart.

    `share`: of all words of the two, those that both have.
    """
    words = [frozenset(words_of(text)) for text in texts]
    for first, second in combinations(range(len(words)), 2):
        in_both = words[first] & words[second]
        in_either = words[first] | words[second]
        # Of short texts one more word is a larger share, and says as little.
        if len(in_either) - len(in_both) <= 1 or len(in_both) >= share * len(in_either):
            yield first, second


@dataclass
class StyleCheck:
    """Checks the texts of one call's replies, which go back to the writer with their faults while `retries_left`.

    Then they are accepted: a text in bad style is worth more than no user. A `strict` check never accepts faults that block.
    """

    retries_left: int
    strict: bool = False
    noun: str = field(default="Query")

    @classmethod
    def of_texts(cls, max_reasks: int, *, alone: bool, noun: str = "Query") -> Self:
        """Return the check of a text that is asked for `alone`, or of several in one call.

        Several go back once at most: a writer told of a fault in one of them writes all anew, and mostly the same. What is
        still wrong then is written by itself.
        """
        return cls(max_reasks, strict=True, noun=noun) if alone else cls(min(1, max_reasks), noun=noun)

    def check(self, texts: Iterable[TextInContext], *, also: str = "") -> None:
        """Raise ValueError with what is wrong; `also`: what is wrong with all texts together, which never blocks here."""
        self.retries_left -= 1
        wrong: list[str] = []
        for number, text in enumerate(texts, start=1):
            for check, fault in faults(text):
                if self._refuses(blocking=check.blocking):
                    wrong.append(f"{self.noun} {number} {fault}")
        if also and self._refuses(blocking=False):
            wrong.append(also)
        if wrong:
            raise ValueError(" ".join(wrong))

    def _refuses(self, *, blocking: bool) -> bool:
        return self.retries_left >= 0 or (self.strict and blocking)
