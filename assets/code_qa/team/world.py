"""The world of one question: a package as it is, a team that is invented, and calls with what they returned."""

import re
from collections.abc import Mapping, Sequence, Set

from assets.code_qa.packages.vocabulary import CodeVocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.relations import AS_OF, NOTE_KINDS, OUTCOME, RELATIONS, RUN_ON, STATUSES
from assets.engine.seeded_random import SeededRandom
from assets.llm.text import folded, words_of
from assets.memory_items.facts import DocumentPlan, Statement, Status
from assets.memory_items.world.dates import spoken
from assets.memory_items.world.names import PERSON, NameKind, NameMaker, stem
from assets.memory_items.world.relations import Relation, World

SERVICE_ENDS = ("import", "export", "intake", "digest", "mirror", "ledger", "relay", "sweep", "feed", "archive")
WRAPPER_ENDS = ("call", "guard", "step", "shim", "gate", "pass")
FEWEST_LETTERS, FEWEST_OF_SEVERAL = 5, 4  # of the one word of a result that has no other, and of several words
GUESSED = frozenset(("True", "False", "None"))
# What would end a sentence, close a mark of code, or look like a tag or its escape within a text.
AWKWARD = re.compile(r"[.!?…](?=\s)|[\n\r`]|<(?=\s*/?\s*[A-Za-z_])|&lt;")
CODE_KINDS = frozenset(("function", "call"))
FEWEST_CALLS = 6  # of different results, below which no note tells of calls


def _service(rng: SeededRandom) -> str:
    return f"{stem(rng, 2).lower()}-{rng.choice(SERVICE_ENDS)}"


def _same_stem(name: str, rng: SeededRandom) -> str:
    return f"{name.partition('-')[0]}-{rng.choice(SERVICE_ENDS)}"


def _team(rng: SeededRandom) -> str:
    return f"Team {stem(rng, 2)}"


def _wrapper(rng: SeededRandom) -> str:
    return f"{stem(rng, 2).lower()}_{rng.choice(WRAPPER_ENDS)}"


NAME_KINDS: Mapping[str, NameKind] = {
    "person": PERSON,
    "service": NameKind(_service, _same_stem),
    "team": NameKind(_team, lambda _, rng: _team(rng)),
    "wrapper": NameKind(_wrapper, lambda _, rng: _wrapper(rng)),
}


def tellable(behaviours: Sequence[Behaviour]) -> list[Behaviour]:
    """Behaviours that notes can tell and questions ask for: of a result that nothing else reads like, no two calls alike."""
    found: dict[str, Behaviour] = {}
    for one in behaviours:
        awkward = AWKWARD.search(one.call) or AWKWARD.search(one.result.text)
        if not awkward and one.result.text not in GUESSED and is_telling(one.result.answer):
            found.setdefault(folded(one.call), one)
    return list(found.values())


def is_telling(result: str) -> bool:
    """Whether a text that has this result most likely means it: two words, a long one, or a number of three digits."""
    words = [word for word in words_of(result) if word[0].isalnum()]
    if len(words) > 1:
        return sum(map(len, words)) >= FEWEST_OF_SEVERAL
    return bool(words) and len(words[0]) >= (3 if words[0].isdigit() else FEWEST_LETTERS)


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
        self._behaviours = rng.shuffled([one for one in behaviours if one.call not in taken])
        self._results = {one.call: one.result.text for one in behaviours}

    def usable(self, name: str) -> bool:
        """Whether no word of the name but its ending is in the code."""
        return folded(name).split()[0 if not name.startswith("Team ") else 1] not in self._vocabulary.words

    def new(self, kind: str) -> str:
        if kind == "function":
            return _taken_from(self._functions)
        if kind == "call":
            return self._take(self._behaviours)
        return super().new(kind)

    def alike(self, kind: str, name: str) -> str:
        """A call of the same function, a function of the same module, where there is one."""
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
        value = super().value(relation, subject=subject, other_than=other_than, rng=rng)
        while relation.value == "number" and value in self._vocabulary.constants | self._vocabulary.words:
            value = super().value(relation, subject=subject, other_than=other_than, rng=rng)
        return value

    def _take(self, among: Sequence[Behaviour]) -> str:
        """A call of these; those with the same result are not given any more."""
        if not among:
            raise LookupError("calls enough")
        taken = among[0]
        self._behaviours = [one for one in self._behaviours if folded(one.result.text) != folded(taken.result.text)]
        return taken.call


def _taken_from(pool: list[str], preferred: Sequence[str] = ()) -> str:
    if not pool:
        raise LookupError("functions enough")
    name = (preferred or pool)[0]
    pool.remove(name)
    return name


class TeamWorld(World):
    """A team's notes on a package. `behaviours` are those that notes may tell."""

    tell_prompt, phrase_prompt = "code_documents/tell", "code_documents/phrase"
    relations, document_kinds, statuses = RELATIONS, NOTE_KINDS, STATUSES
    title_slots = ("date",)
    text_slots = frozenset(("author", "date", "subject"))
    needed_slots = frozenset(("author",))
    asides_elsewhere, days_apart = 2, 45

    def __init__(self, sources: CodeSources, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary) -> None:
        self._functions = [one.symbol_id for one in sources.symbols if one.kind == "function"]
        self._behaviours, self._vocabulary = tellable(behaviours), vocabulary
        if len({folded(one.result.text) for one in self._behaviours}) < FEWEST_CALLS:
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
        """Each is about a function or a call; half of those of several facts end in what a call comes to."""
        runs = hops > 1 and OUTCOME in {one.name for one in self.relations}
        family = rng.choice(("run", "run", "plain", "name") if runs else ("plain", "name"))
        while True:
            path = [rng.choice([one for one in self.relations if one.name != OUTCOME])]
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
    if relation.name == OUTCOME:
        return "run"
    return "name" if relation.leads_on and relation.value != "call" else "plain" if relation.value != "call" else "call"


def stands_in_code(statement: Statement, sources: CodeSources, vocabulary: CodeVocabulary) -> str:
    """What of a decision stands in the package's code, by text or syntax tree; empty for nothing.

    A function is no decision; that one function takes another's place is, and then neither may name the other.
    """
    functions = {one.symbol_id: one for one in sources.symbols}
    for text in (statement.subject, statement.value):
        if text in functions or "(" in text:
            continue
        if folded(text) in vocabulary.words or text in vocabulary.constants | vocabulary.names:
            return text
    if statement.value in functions and statement.subject in functions:
        words = words_of(functions[statement.subject].source)
        if functions[statement.value].name in functions[statement.subject].source or folded(statement.value) in words:
            return f"{statement.value} in {statement.subject}"
    return ""
