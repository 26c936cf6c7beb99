"""Texts compared and measured: those that read the same, a value that one spells, an estimate of tokens.

Texts are compared after folds that a reader would not notice: compatibility forms (NFKC), case, invisible characters,
hyphens, underscores and spacing, English plurals, accents of Latin letters, vowel signs of Arabic, and letters of other scripts
that look like Latin ones.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

# After NFKC and in one case: letters that look like the Latin letter in front, from Unicode's table of confusables.
LOOK_ALIKES = """
a ɑαаᎪꓮ b ƅβвьᏏᏴꓐꞵ c σсᏟᴄⲥꓚ d ԁᎠᏧꓒꓓ e εеҽᎬꓰꬲ f ϝքẝꓝꞙꬵ g ƍɡԍցᏀᏳᶃꓖ h ηнһհᎻᏂⲏꓧ i ıɩιіᎥꙇ j ʝϳјᎫꓙ k κкᏦⲕꓗ l ǀӏᏞⲓⳑꓡꓲ
m μϻмᎷⲙꓟ n νոռⲛꓠ o οσоօჿᴏᴑⲟꓳꬽ p ρрᏢⲣꓑ q ԛգզ r ʀгᎡᎱᏒᴦⲅꓣꭇꭈ s ƽѕտᏕᏚꓢꜱ t τтᎢⲧꓔ u ʋυսᴜꓴꞟꭎꭒ v ѵᏙᴠꓦ w ɯѡԝաᎳᏔᴡꓪ x χхⲭꓫꭓ
y ɣʏγуүყᎩᎽᶌỿⲩꓬꭚ z ζᏃᴢꓜ
"""


def _folded_letters() -> dict[int, str]:
    """Return the Latin letter for each code of a letter with accents, or that looks like it."""
    folded_letters: dict[int, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFKD", chr(code))[:1]
        if base.isascii() and base.isalpha():
            folded_letters[code] = base
    for base, likes in re.findall(r"(\w) (\w+)", LOOK_ALIKES.casefold()):
        for like in likes:
            folded_letters[ord(like)] = base
    # The accent that Russian mostly leaves out.
    folded_letters[ord("ё")] = folded_letters[ord("е")]
    return folded_letters


FOLDED_LETTERS = _folded_letters()
DIGITS_AS_LETTERS = str.maketrans("01", "ol")  # within a word of letters
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u0640\u064b-\u0652\u0670\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
# Scripts that are written without spaces, or join endings to words: every character is a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
# Vowel signs of India's scripts, which Python takes for no letters: without them words would come apart.
VOWEL_SIGNS = "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0abc-\u0acd\u0b3c-\u0bcd"
# Signs that tell values apart, as in <5 and >5, or c and c++, are words too, and so is the end of a sentence within a text.
WORD = re.compile(rf"[{UNSPACED}]|(?:[^\W_{UNSPACED}]|[{VOWEL_SIGNS}])+|[<>=+#%&$€£°]|[.!?;؟।](?=\s)|[。！？](?=.)")
UNSPACED_WORD = re.compile(f"[{UNSPACED}]")
POSSESSIVE = re.compile(r"['’]s\b")
PLURAL = re.compile(r"[a-z]+s")


@lru_cache(maxsize=4096)  # one text is looked through for many values
def words_of(text: str) -> tuple[str, ...]:
    """Return the text's words in order, folded."""
    return tuple(map(_folded_word, _words_with_endings(text)))


@lru_cache(maxsize=4096)
def _words_with_endings(text: str) -> tuple[str, ...]:
    """Return the text's words in order, folded but for plurals."""
    plain = unicodedata.normalize("NFKC", INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold())
    return tuple(WORD.findall(POSSESSIVE.sub("", plain).translate(FOLDED_LETTERS)))


def runs_of_words(text: str, length: int) -> frozenset[tuple[str, ...]]:
    """Return all runs of so many words that follow each other in the text, folded."""
    words = words_of(text)
    return frozenset(words[start : start + length] for start in range(len(words) - length + 1))


def _folded_word(word: str) -> str:
    if not word.isascii() or len(word) < 2:
        return word
    if not word.isalpha() and not word.isdigit():
        word = word.translate(DIGITS_AS_LETTERS)
    if len(word) <= 3 or not PLURAL.fullmatch(word) or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zzes")) else word[:-1]


def shorten(text: str, most: int) -> str:
    """Return the text; of one with more characters the beginning, with three dots."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def folded(text: str) -> str:
    """Return the folded words with single spaces; the text itself where it has none."""
    return " ".join(words_of(text)) or text.strip()


class _Joined(NamedTuple):
    """A text's words without spaces, and where words begin; numbers keep a space between them."""

    text: str
    starts: tuple[int, ...]


@lru_cache(maxsize=4096)
def _join_plurals(text: str) -> tuple[_Joined, _Joined]:
    """Return the text folded, and with its plurals: a word that is written together with the next does not show its own."""
    return _join(words_of(text)), _join(_words_with_endings(text))


def _join(words: Iterable[str]) -> _Joined:
    joined = ""
    starts: list[int] = []
    for word in words:
        if joined[-1:].isdigit() and word[0].isdigit():
            joined += " "
        starts.append(len(joined))
        joined += word
    return _Joined(joined, (*starts, len(joined)))


def spells(text: str, value: str) -> bool:
    """Return True where the text has the value's words in one piece, as whole words, however they are joined."""
    return any(_has(whole, words.text) for whole, words in zip(_join_plurals(text), _join_plurals(value), strict=True))


def _has(whole: _Joined, words: str) -> bool:
    at = whole.text.find(words) if words else -1
    while at >= 0:  # hardly any text has them at all
        if _begins_word(whole, at) and _begins_word(whole, at + len(words)):
            return True
        at = whole.text.find(words, at + 1)
    return False


def _begins_word(whole: _Joined, at: int) -> bool:
    """Return True where a word begins here, or the text ends, or a space between numbers stands here."""
    index = bisect_left(whole.starts, at)
    return (index < len(whole.starts) and whole.starts[index] == at) or whole.text[at : at + 1] == " "


def is_distinctive(value: str) -> bool:
    """Return True where a text with these words most likely means the value: two words, or four characters without spaces."""
    words = words_of(value)
    return len(words) > (3 if all(map(UNSPACED_WORD.match, words)) else 1)


def alike(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield groups of two or more texts that read the same, in order of their first."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    first_folded: dict[str, str] = {}
    for text in texts:
        without_plurals, with_plurals = _join_plurals(text)
        key = first_folded.setdefault(with_plurals.text or text.strip(), without_plurals.text or text.strip())
        groups[key].append(text)
    for group in groups.values():
        if len(group) > 1:
            yield group


# What OpenAI's tokenizer o200k makes of a text, without its vocabulary of 200,000 pieces: a word with the space before it, up
# to three digits, a run of signs, line breaks. Most are one token; groups hold what makes them more, in this order: letters
# beyond the fourth of a word behind a space, those of any other word, letters without spaces between words, further letters of
# other alphabets, signs beyond the third. More than 20 letters in a run are no word, and come apart.
ALPHABETS = "\u00aa-\u0dff\u10a0-\u10ff\u1e00-\u1fff"
LETTER = rf"(?:(?=[{ALPHABETS}])[^\W\d_{UNSPACED}]|[{VOWEL_SIGNS}])"
SIGN = r"[!-/:-@\[-^`{-~]"
ENDING = r"(?:'(?:s|t|re|ve|m|ll|d)\b)?"
PIECE = re.compile(
    rf"(?=[A-Za-z]{{21}})[A-Za-z]{{3}}| [A-Za-z]{{1,4}}([A-Za-z]*){ENDING}|_?[A-Za-z]{{1,4}}([A-Za-z]*){ENDING}|\d{{1,3}}"
    rf"|([{UNSPACED}])| ?{LETTER}({LETTER}*)| ?{SIGN}{{1,3}}({SIGN}*)[\r\n]*"
    r"|\s*[\r\n]+|[^\S\r\n]{1,64}(?=\s|$)|[^\S\r\n]{2,64}(?= )|\S"
)
# Hundredths of a token: for every piece, and for each character of a group, fitted to prompts and replies of all stages.
OF_PIECE = 100
OF_GROUPS = (3, 17, -22, 20, 40)
# Visible characters; texts have fewer. Whoever fills every word with letters gains nothing.
MOST_PER_TOKEN = 4.4
KEPT_TEXT = 2000  # characters; the counts of the texts below are kept, which takes a few MB


def count_tokens(text: str) -> int:
    """Return the tokens that OpenAI bills for a text, estimated.

    Prompts and replies in English and Chinese are within 3 % in sum, and single ones within an eighth; other languages may be a
    quarter off.
    """
    return _tokens_of_kept(text) if len(text) <= KEPT_TEXT else _tokens_of(text)


def _tokens_of(text: str) -> int:
    pieces = PIECE.findall(text)
    hundredths = OF_PIECE * len(pieces)
    for characters, each in zip(zip(*pieces, strict=True), OF_GROUPS, strict=False):
        hundredths += each * len("".join(characters))
    return _whole_tokens(hundredths, visible=len("".join(text.split())))


# Every request of a dialogue has the messages before it, which are counted again.
_tokens_of_kept = lru_cache(maxsize=8192)(_tokens_of)


def _whole_tokens(hundredths: int, *, visible: int) -> int:
    """Return the tokens of pieces that have so many visible characters."""
    return round(max(hundredths / 100, visible / MOST_PER_TOKEN))


def text_within(text: str, tokens: int) -> str:
    """Return the beginning of the text that fits into so many tokens; of what lies far behind nothing is read."""
    # A token of prose has fewer characters, so that most texts that fit are counted at once, and no long one is.
    if len(text) <= 8 * tokens and count_tokens(text) <= tokens:
        return text
    hundredths = visible = 0
    for piece in PIECE.finditer(text):
        hundredths += OF_PIECE
        if piece.lastindex:
            hundredths += OF_GROUPS[piece.lastindex - 1] * len(piece[piece.lastindex])
        visible += len(piece[0].strip())
        if _whole_tokens(hundredths, visible=visible) > tokens:
            return text[: piece.start()].rstrip()
    return text
