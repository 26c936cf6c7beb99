"""The world of one question: a package as it is, an invented team, and calls with their results."""

import re
from collections.abc import Mapping, Sequence, Set

from assets.code_qa.packages.vocabulary import CodeVocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.relations import AS_OF, NOTE_KINDS, OUTCOME, RELATIONS, RUN_ON, STATUSES
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import DocumentPlan, Statement, Status
from assets.memory_items.world.relations import PERSON, NameKind, NameMaker, Relation, World, name_stem, spoken
from assets.text.words import folded, words_of
from prompts.fence import neutralized

SERVICE_ENDS = ("import", "export", "intake", "digest", "mirror", "ledger", "relay", "sweep", "feed", "archive")
WRAPPER_ENDS = ("call", "guard", "step", "shim", "gate", "pass")
# From so many letters on a result is hardly in a text by chance.
FEWEST_LETTERS = 5
FEWEST_LETTERS_OF_SEVERAL_WORDS = 4
FEWEST_DIGITS = 3
GUESSED = frozenset(("True", "False", "None"))
# What would end a sentence, close a mark of code, or look like a bracket that a fence has replaced.
AWKWARD = re.compile(r"[.!?…](?=\s)|[\n\r`]|&lt;|&#91;")
CODE_KINDS = frozenset(("function", "call"))
FEWEST_CALLS = 6  # of different results, below which no note tells of calls


def _service(rng: SeededRandom) -> str:
    return f"{name_stem(rng, 2).lower()}-{rng.choice(SERVICE_ENDS)}"


def _same_stem(name: str, rng: SeededRandom) -> str:
    return f"{name.partition('-')[0]}-{rng.choice(SERVICE_ENDS)}"


def _team(rng: SeededRandom) -> str:
    return f"Team {name_stem(rng, 2)}"


def _wrapper(rng: SeededRandom) -> str:
    return f"{name_stem(rng, 2).lower()}_{rng.choice(WRAPPER_ENDS)}"


NAME_KINDS: Mapping[str, NameKind] = {
    "person": PERSON,
    "service": NameKind(_service, _same_stem),
    "team": NameKind(_team, lambda _, rng: _team(rng)),
    "wrapper": NameKind(_wrapper, lambda _, rng: _wrapper(rng)),
}


def is_awkward(text: str) -> bool:
    """Return True for a text that would not stand in a note as it is, or not reach a reader as it is."""
    return AWKWARD.search(text) is not None or neutralized(text) != text


def tellable(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """Return behaviours that notes can tell and questions ask for: results that nothing else reads like, no two calls alike."""
    found: dict[str, Behaviour] = {}
    for one in behaviours:
        awkward = is_awkward(one.call) or is_awkward(one.result.text)
        if not awkward and one.result.text not in GUESSED and is_telling(one.result.answer):
            found.setdefault(folded(one.call), one)
    return list(found.values())


def is_telling(result: str) -> bool:
    """Return True where a text with this result most likely means it: two words, a long one, or a number of three digits."""
    words = [word for word in words_of(result) if word[0].isalnum()]
    if len(words) > 1:
        return len("".join(words)) >= FEWEST_LETTERS_OF_SEVERAL_WORDS
    if not words:
        return False
    return len(words[0]) >= (FEWEST_DIGITS if words[0].isdigit() else FEWEST_LETTERS)


class TeamNames(NameMaker):
    """Invented names that the package's code has no word of; its functions, and calls of them, are real."""

    def __init__(
        self,
        rng: SeededRandom,
        *,
        functions: Sequence[str],
        behaviours: Sequence[Behaviour],
        vocabulary: CodeVocabulary,
        taken: Set[str],
    ) -> None:
        super().__init__(rng, NAME_KINDS, taken)
        self._vocabulary = vocabulary
        self._functions = rng.shuffled([one for one in functions if one not in taken])
        self._results: dict[str, str] = {}
        free: list[Behaviour] = []
        for one in behaviours:
            self._results[one.call] = one.result.text
            if one.call not in taken:
                free.append(one)
        self._behaviours = rng.shuffled(free)

    def usable(self, name: str) -> bool:
        """Return True where no word of the name but its ending is in the code."""
        words = folded(name.removeprefix("Team ")).split()
        return words[0] not in self._vocabulary.words

    def new(self, kind: str) -> str:
        if kind == "function":
            return _taken_from(self._functions)
        if kind == "call":
            return self._take(self._behaviours)
        return super().new(kind)

    def alike(self, kind: str, name: str) -> str:
        """Return a call of the same function, a function of the same module, where there is one."""
        if kind == "function":
            module = name.rpartition(".")[0]
            return _taken_from(self._functions, [one for one in self._functions if one.rpartition(".")[0] == module])
        if kind == "call":
            function = name.partition("(")[0]
            return self._take([one for one in self._behaviours if one.symbol_id == function] or self._behaviours)
        return super().alike(kind, name)

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        if relation.name == OUTCOME:
            return self._results[subject]
        while True:
            value = super().value(relation, subject=subject, other_than=other_than, rng=rng)
            # An agreed number that stands in the code could be guessed from it.
            if relation.value != "number" or not self._vocabulary.has(value):
                return value

    def _take(self, among: Sequence[Behaviour]) -> str:
        """Return a call of these; those with the same result are not given any more."""
        if not among:
            raise LookupError("calls enough")
        taken = among[0]
        result = folded(taken.result.text)
        self._behaviours = [one for one in self._behaviours if folded(one.result.text) != result]
        return taken.call


def _taken_from(pool: list[str], preferred: Sequence[str] = ()) -> str:
    if not pool:
        raise LookupError("functions enough")
    name = (preferred or pool)[0]
    pool.remove(name)
    return name


class TeamWorld(World):
    """A team's notes on a package. `behaviours` are those that notes may tell."""

    tell_prompt = "code_documents/tell"
    phrase_prompt = "code_documents/phrase"
    relations = RELATIONS
    document_kinds = NOTE_KINDS
    statuses = STATUSES
    title_slots = ("date",)
    text_slots = frozenset(("author", "date", "subject"))
    needed_slots = frozenset(("author",))
    asides_elsewhere = 2
    days_apart = 45

    def __init__(self, sources: CodeSources, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary) -> None:
        self._functions = [one.symbol_id for one in sources.symbols if one.kind == "function"]
        self._behaviours = tellable(behaviours)
        self._vocabulary = vocabulary
        results = {folded(one.result.text) for one in self._behaviours}
        if len(results) < FEWEST_CALLS:
            self.relations = [one for one in RELATIONS if "call" not in (one.subject, one.value)]

    def entities(self, path: Sequence[object], taken: Set[str]) -> TeamNames:
        return TeamNames(
            SeededRandom(*path),
            functions=self._functions,
            behaviours=self._behaviours,
            vocabulary=self._vocabulary,
            taken=taken,
        )

    def path(self, rng: SeededRandom, hops: int) -> list[Relation]:
        """Return relations of which one is about a function or a call; half of the longer paths end in what a call comes to."""
        starts = [one for one in self.relations if one.name != OUTCOME]
        families = ["plain", "name"]
        if hops > 1 and len(starts) < len(self.relations):
            families = ["run", "run", *families]
        family = rng.choice(families)
        while True:
            path = [rng.choice(starts)]
            while len(path) < hops:
                fitting = [one for one in self.relations_of(path[-1].value) if one not in path]
                if not fitting:
                    break
                path.append(rng.choice(fitting))
            about_code = any(CODE_KINDS & {one.subject, one.value} for one in path)
            if len(path) == hops and about_code and _family(path[-1]) == family:
                return path

    def source_words(self, relation: str, status: Status) -> Sequence[str]:
        return RUN_ON if relation == OUTCOME else AS_OF[status]

    def slots(self, plan: DocumentPlan, *, rng: SeededRandom, path: Sequence[object]) -> Mapping[str, str]:
        """A note is signed, and dated with the latest day that it speaks of."""
        names = NameMaker(SeededRandom(*path, plan.document_id, "names"), NAME_KINDS)
        return {
            "subject": plan.subject,
            "author": names.new("person"),
            "date": spoken(max(one.as_of for one in plan.statements)),
        }


def _family(relation: Relation) -> str:
    """Return the kind of answer that a path to this relation has; `call` is that of none."""
    if relation.name == OUTCOME:
        return "run"
    if relation.value == "call":
        return "call"
    return "name" if relation.leads_on else "plain"


def stands_in_code(statement: Statement, sources: CodeSources, vocabulary: CodeVocabulary) -> str:
    """Return what of a decision stands in the package's code, by text or syntax tree; empty for nothing.

    A function is no decision; that one function takes another's place is, and then neither may name the other.
    """
    functions = {one.symbol_id: one for one in sources.symbols}
    for text in (statement.subject, statement.value):
        if text in functions or "(" in text:
            continue
        if vocabulary.has(text):
            return text
    subject = functions.get(statement.subject)
    value = functions.get(statement.value)
    if subject is None or value is None:
        return ""
    named = value.name in subject.source or folded(statement.value) in words_of(subject.source)
    return f"{statement.value} in {statement.subject}" if named else ""
