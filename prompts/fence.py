"""The fence around untrusted text in a prompt: tags that the text itself cannot open or close, nor imitate.

A model reads more than `</note>` as the end of a note: other brackets that look the same, letters of full width, signs that
nobody sees between bracket and slash, and the control tokens of chat templates, which a server may take for its own. Whatever
looks like one of these loses its first bracket; all other text stays as it is.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator

# Signs that look alike. One stands for all of its group where a text is searched.
LOOK_ALIKES = {
    "‹": "＜﹤‹〈⟨〈❬❮❰˂ᐸ≺⧼⟪𝈶",
    "›": "＞﹥›〉⟩〉❭❯❱˃ᐳ≻⧽⟫𝈷",
    "/": "／⁄∕⧸╱⟋",
    "|": "｜¦│┃∣❘ǀ",
    "[": "［【〔⟦❲﹝",
    "]": "］】〕⟧❳﹞",
    "_": "＿▁",
}
# Capitals of other scripts that look like the Latin one in front.
CAPITALS = "AАΑ BВΒ CСϹ EЕΕ GԌ HНΗ IІΙ KКΚ MМΜ NΝ OОΟ PРΡ SЅ TТΤ UՍ YҮΥ"
INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
# Letters that no screen shows and models can read; of flags alone they are a part.
TAG_CHARACTERS = re.compile("[\U000e0000-\U000e007f]")
GAP = rf"(?:[\s{INVISIBLE}]|\\[nrt])"
# Brackets with all that may stand before a name. It is read once, however long it is, and never again.
OPENING = re.compile(rf"[<‹](?:{GAP}|!-*+|[/|?<‹])*+")
MARKS = frozenset("/|!?<")  # with one of these a bracket before a name opens a tag, even one that nothing closes
NAME_AND_BRACKET = re.compile(rf"[A-Za-z_][\w{INVISIBLE}-]*+{GAP}*+/?{GAP}*+[>›]")
TOKENS = (
    *("INST", "SYS", "SYSTEM", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "THINK"),
    *("MASK", "GMASK", "SMASK", "CLS", "SEP", "PAD", "UNK", "BOS", "EOS", "PREFIX", "SUFFIX", "MIDDLE"),
)
SPACED = "|".join(map(f"[{INVISIBLE}]*+".join, TOKENS))
TOKEN = re.compile(rf"\[{GAP}*+/?{GAP}*+(?:{SPACED}){GAP}*+\]", re.IGNORECASE)


def _searched_forms() -> dict[int, str]:
    """Return a character for each that looks like it: one for one, so that positions in a searched text stay the same."""
    forms: dict[int, str] = {}
    # Plain letters of full width, in circles, and as mathematicians write them.
    for code in (*range(0xFF01, 0xFF5F), *range(0x24B6, 0x24EA), *range(0x1D400, 0x1D6A4)):
        plain = unicodedata.normalize("NFKC", chr(code))
        if len(plain) == 1 and plain.isascii():
            forms[code] = plain
    for capitals in CAPITALS.split():
        forms |= dict.fromkeys(map(ord, capitals[1:]), capitals[0])
    for sign, others in LOOK_ALIKES.items():
        forms |= dict.fromkeys(map(ord, others), sign)
    return forms


SEARCHED_FORMS = _searched_forms()


def enclose_in_tags(value: object, tag: str) -> str:
    """Put data between `<tag>` and `</tag>`; what in it imitates a tag or a chat template's token loses its bracket.

    Strings stay as they are, everything else becomes compact JSON.
    """
    if isinstance(value, str):
        text = neutralize_brackets(value)
    else:
        dumped = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        text = _without_imitations(dumped, _escape_bracket)
    return f"<{tag}>\n{text}\n</{tag}>"


def neutralize_brackets(text: str) -> str:
    """Return the text with `&lt;` and `&#91;` for the first brackets of what imitates a tag or a token."""
    return _without_imitations(text, _name_bracket)


def _escape_bracket(bracket: str) -> str:
    return f"\\u{ord(bracket):04x}" if bracket.isascii() else json.dumps(bracket)[1:-1]


def _name_bracket(bracket: str) -> str:
    return "&#91;" if SEARCHED_FORMS.get(ord(bracket), bracket) == "[" else "&lt;"


def _without_imitations(text: str, replaced: Callable[[str], str]) -> str:
    """Put something else in place of such brackets, found in a form of the text where all that looks alike is one."""
    seen = text
    if not text.isascii():
        text = TAG_CHARACTERS.sub("", text)
        seen = text.translate(SEARCHED_FORMS)
    parts: list[str] = []
    end = 0
    for position in sorted(_imitating_brackets(seen)):
        parts += (text[end:position], replaced(text[position]))
        end = position + 1
    return "".join((*parts, text[end:]))


def _imitating_brackets(seen: str) -> Iterator[int]:
    """Yield the positions of opening brackets that could be read as a tag's, and of those that begin a chat token.

    A bracket before a word counts only with a mark such as `/` beside it, or if a closing bracket follows the word: in other
    scripts brackets around plain words are common.
    """
    for opening in OPENING.finditer(seen):
        run = opening[0]
        end = opening.end()
        first = seen[end : end + 1]
        if not (first.isalpha() or first == "_"):
            continue
        if not MARKS.isdisjoint(run) or NAME_AND_BRACKET.match(seen, end):
            for position, sign in enumerate(run, start=opening.start()):
                if sign in "<‹":
                    yield position
    for token in TOKEN.finditer(seen):
        yield token.start()
