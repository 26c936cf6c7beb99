"""What a team can tell of a package as it is: its functions by their spoken names, calls with their results, patches."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from assets.code_qa.records.behaviours import Behaviour, CallResult, NearMiss
from assets.code_qa.records.sources import CodeSources, CodeSymbol
from assets.code_qa.team.relations import BREAKS, EDIT, NUMBERS, OUTCOME, WRONG_RESULT
from assets.text.words import folded, words_of
from prompts.fence import neutralize_brackets

# From so many letters on a result is hardly in a text by chance.
FEWEST_LETTERS = 5
FEWEST_LETTERS_OF_SEVERAL_WORDS = 4
FEWEST_DIGITS = 3
GUESSED = frozenset(("True", "False", "None"))
# What would end a sentence, close a mark of code, or look like a bracket that a fence has replaced.
AWKWARD = re.compile(r"[.!?…](?=\s)|[\n\r`]|&lt;|&#91;")


@dataclass(frozen=True)
class TeamCode:
    """A package as its team knows it. `functions` are symbols by spoken name; `executed`: results by subject and relation.

    `shown`: calls that the package shows itself, whose arguments go together.
    """

    package: str
    functions: Mapping[str, CodeSymbol]
    behaviours: Sequence[Behaviour]
    patches: Mapping[str, "FunctionPatch"]
    executed: Mapping[tuple[str, str], str]
    shown: frozenset[str]

    @classmethod
    def of(cls, sources: CodeSources, behaviours: Sequence[Behaviour]) -> Self:
        """Return what notes may tell of the package, with these of its calls."""
        tellable = keep_tellable(behaviours)
        functions = spoken_names([symbol for symbol in sources.symbols if symbol.kind == "function"])
        shown = frozenset(f"{example.symbol_id}({', '.join(example.arguments)})" for example in sources.examples)
        return cls(sources.package.name, functions, tellable, patches_of(tellable), executed_values(behaviours), shown)

    def function_of(self, name: str) -> str:
        """Return the spoken name of what a function, its id, a call or a patch is about; empty for another name."""
        if name in self.patches:
            name = self.patches[name].behaviour.symbol_id
        if name in self.functions:
            return name
        symbol_id = name.partition("(")[0]
        return next((spoken for spoken, symbol in self.functions.items() if symbol.symbol_id == symbol_id), "")

    def related(self, name: str) -> list[str]:
        """Return the other functions, first those whose names have most words of this one's, then those of its module."""
        own = self.functions[name]

        def how_far(other: str) -> tuple[int, bool, str]:
            symbol = self.functions[other]
            return -len(shared_words(own.name, symbol.name)), symbol.module != own.module, other

        return sorted((other for other in self.functions if other != name), key=how_far)

    def alternatives(self, name: str) -> list[str]:
        """Return the other functions that may do what this does: their names share a word."""
        own = self.functions[name].name
        return [other for other in self.related(name) if shared_words(own, self.functions[other].name)]


def shared_words(name: str, other: str) -> set[str]:
    return set(words_of(name)) & set(words_of(other))


def spoken_names(symbols: Sequence[CodeSymbol]) -> dict[str, CodeSymbol]:
    """Return functions by what people call them: the bare name, with the module's where it is a plain word or of several."""
    times = Counter(folded(symbol.name) for symbol in symbols)
    found: dict[str, CodeSymbol] = {}
    for symbol in symbols:
        is_word = symbol.name.isalpha() and symbol.name.islower()
        module = symbol.module.rpartition(".")[2]
        spoken = symbol.name if times[folded(symbol.name)] == 1 and not is_word else f"{module}.{symbol.name}"
        found[symbol.symbol_id if spoken in found else spoken] = symbol
    return found


class FunctionPatch(NamedTuple):
    """A change of one place of a function: the call that it breaks, and what the call comes to then; both were executed."""

    name: str
    behaviour: Behaviour
    miss: NearMiss

    @property
    def values(self) -> Mapping[str, str]:
        """What is so of the patch, by relation."""
        return {EDIT: self.miss.change, BREAKS: self.behaviour.call, WRONG_RESULT: self.miss.result.text}


def patches_of(behaviours: Iterable[Behaviour]) -> dict[str, FunctionPatch]:
    """Return by name a patch for each behaviour that has a changed result which nothing else reads like."""
    patches: dict[str, FunctionPatch] = {}
    for behaviour in behaviours:
        for miss in behaviour.near_misses:
            if is_awkward(miss.change) or not _is_told(behaviour.call, miss.result):
                continue
            digest = hashlib.sha256(f"{behaviour.call}\x1f{miss.change}".encode()).digest()
            name = f"patch-{NUMBERS[0] + int.from_bytes(digest[:4]) % (NUMBERS[1] - NUMBERS[0])}"
            patches.setdefault(name, FunctionPatch(name, behaviour, miss))
            break
    return patches


def executed_values(behaviours: Sequence[Behaviour]) -> dict[tuple[str, str], str]:
    """Return what was executed, by subject and relation: outcomes of calls, and what patches do."""
    values: dict[tuple[str, str], str] = {}
    for behaviour in behaviours:
        values[behaviour.call, OUTCOME] = behaviour.result.text
    for patch in patches_of(keep_tellable(behaviours)).values():
        for relation, value in patch.values.items():
            values[patch.name, relation] = value
    return values


def is_awkward(text: str) -> bool:
    """Return True for a text that would not stand in a note as it is, or not reach a reader as it is."""
    return AWKWARD.search(text) is not None or neutralize_brackets(text) != text


def keep_tellable(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """Return behaviours that notes can tell and questions ask for: results that nothing else reads like, no two calls alike."""
    found: dict[str, Behaviour] = {}
    for behaviour in behaviours:
        if _is_told(behaviour.call, behaviour.result):
            found.setdefault(folded(behaviour.call), behaviour)
    return list(found.values())


def _is_told(call: str, result: CallResult) -> bool:
    """Return True for a call that a note can have, and a result that is not in it nor guessed."""
    if is_awkward(call) or is_awkward(result.text) or result.text in GUESSED:
        return False
    return is_telling(result.answer) and result.answer not in call


def is_telling(result: str) -> bool:
    """Return True where a text with this result most likely means it: two words, a long one, or a number of three digits."""
    words = [word for word in words_of(result) if word[0].isalnum()]
    if len(words) > 1:
        return len("".join(words)) >= FEWEST_LETTERS_OF_SEVERAL_WORDS
    if not words:
        return False
    return len(words[0]) >= (FEWEST_DIGITS if words[0].isdigit() else FEWEST_LETTERS)
