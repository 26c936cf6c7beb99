"""The world of one question: a package as it is, an invented team, calls with their results, and patches that break them."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from assets.code_qa.packages.vocabulary import CodeVocabulary, code_vocabulary
from assets.code_qa.records.behaviours import Behaviour, CallResult, CodeBehaviours, NearMiss
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.relations import (
    BREAKS,
    COMPARED,
    EDIT,
    EXECUTED,
    HELD,
    NOTE_KINDS,
    NUMBERS,
    OUTCOME,
    QUESTION_KINDS,
    RELATIONS,
    SHOWN,
    STANDINGS,
    STATUSES,
    WRONG_RESULT,
)
from assets.code_qa.team.source_lines import source_words
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import PROMPT
from assets.memory_items.facts import DocumentPlan, Hop, Statement, Status
from assets.memory_items.world.occasions import Occasion, read_occasions
from assets.memory_items.world.relations import FactWorld, NameKind, NameMaker, Relation, spoken
from assets.recipe.code_qa import PackageRecipe
from assets.recipe.document_tasks import Operation
from assets.text.words import folded, words_of
from prompts.fence import neutralize_brackets

GIVEN_NAMES = """
Ada Adaeze Amir Anouk Bastian Bianca Bogdan Camila Cem Chiara Dalia Dario Deepa Eamon Elif Emeka Enzo Farah Fiona Gita Goran
Hana Hugo Ines Ivo Jamal Jelena Joris Kaito Kavya Kofi Lena Leon Lucia Maeve Marek Mina Nadia Nils Noor Olga Omar Petra Priya
Quentin Rana Ravi Rosa Samir Sanna Selma Tariq Tess Tomas Uma Vera Viktor Wanda Yara Yusuf Zora
"""
FAMILY_NAMES = """
Abara Albers Alvarez Amundsen Arslan Bakker Balogun Barros Becker Bianchi Brandt Castillo Chandra Cohen Costa Dahl Delgado
Demir Diallo Eriksen Farkas Ferreira Fischer Fontaine Gallo Ghosh Haddad Hansen Herrera Horvat Ibrahim Iyer Jansen Kamara Kaya
Keller Kimura Kovacs Larsen Lindqvist Lopes Mancini Marino Mbeki Mehta Moreau Mwangi Nakata Novak Nyberg Okafor Okonkwo Olsen
Petrov Popescu Quist Ramos Rinaldi Rossi Sandoval Santos Sato Silva Soares Tanaka Teixeira Toth Vargas Vogel Weber Yilmaz Zeman
"""
GIVEN = tuple(GIVEN_NAMES.split())
FAMILY = tuple(FAMILY_NAMES.split())
SERVICE_WORDS = """
billing invoice parcel payroll tariff voucher dispatch loyalty customs fleet roster claims pricing refund catalog permit harbour
tenant meter subsidy courier clinic ticketing warehouse pension lending auction donor vendor transit grocery festival insurance
"""
SERVICES = tuple(SERVICE_WORDS.split())
SERVICE_ENDS = (
    "import",
    "export",
    "intake",
    "digest",
    "mirror",
    "ledger",
    "relay",
    "sweep",
    "feed",
    "archive",
    "gateway",
    "sync",
)
OCCASIONS = read_occasions(Path(__file__).with_name("occasions.yaml"))
REGIONS = ("", "-eu", "-us", "-apac", "-latam", "-north", "-beta")
WRAPPER_ENDS = ("call", "guard", "step", "shim", "gate", "pass")
WRAPPED = ("text", "input", "record", "row", "batch", "field")
# From so many letters on a result is hardly in a text by chance.
FEWEST_LETTERS = 5
FEWEST_LETTERS_OF_SEVERAL_WORDS = 4
FEWEST_DIGITS = 3
GUESSED = frozenset(("True", "False", "None"))
# What would end a sentence, close a mark of code, or look like a bracket that a fence has replaced.
AWKWARD = re.compile(r"[.!?…](?=\s)|[\n\r`]|&lt;|&#91;")
CODE_KINDS = frozenset(("function", "call", "patch"))
FEWEST_CALLS = 8  # of different results, below which no note tells of calls
FEWEST_PATCHES = 12  # below which no note tells of patches


def _person(rng: SeededRandom) -> str:
    return f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"


def _namesake(name: str, rng: SeededRandom) -> str:
    """Return another given name before the same family name."""
    return f"{rng.choice(GIVEN)} {name.partition(' ')[2]}"


def _service(rng: SeededRandom) -> str:
    return f"{rng.choice(SERVICES)}-{rng.choice(SERVICE_ENDS)}{rng.choice(REGIONS)}"


def _sister_service(name: str, rng: SeededRandom) -> str:
    return f"{name.partition('-')[0]}-{rng.choice(SERVICE_ENDS)}{rng.choice(REGIONS)}"


def _wrapper(rng: SeededRandom) -> str:
    return f"{rng.choice(SERVICES)}_{rng.choice(WRAPPED)}_{rng.choice(WRAPPER_ENDS)}"


def name_kinds(package: str) -> Mapping[str, NameKind]:
    """Return the kinds of names of a team around this package; its tickets begin with letters of the package's name."""
    prefix = "".join(filter(str.isalpha, package))[:3].upper()

    def ticket(rng: SeededRandom) -> str:
        return f"{prefix}-{NUMBERS[0] + rng.integer_below(NUMBERS[1] - NUMBERS[0])}"

    def near_ticket(name: str, rng: SeededRandom) -> str:
        return f"{name[:-1]}{rng.integer_below(10)}"

    return {
        "person": NameKind(_person, _namesake),
        "service": NameKind(_service, _sister_service),
        "wrapper": NameKind(_wrapper, lambda _, rng: _wrapper(rng)),
        "ticket": NameKind(ticket, near_ticket),
    }


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


class TeamNames(NameMaker):
    """Invented names that the package's code has no word of; its functions, calls of them and patches are real."""

    def __init__(self, world: "TeamWorld", rng: SeededRandom, taken: Set[str]) -> None:
        super().__init__(rng, name_kinds(world.package), taken)
        self._vocabulary = world.vocabulary
        self._values = world.executed
        self._functions = rng.shuffled([function for function in world.functions if function not in taken])
        # A call in which a taken name stands would tell it as well.
        told = tuple(name.strip("'\"") for name in taken)
        free: list[Behaviour] = []
        for behaviour in world.behaviours:
            if behaviour.result.text not in taken and not any(name in behaviour.call for name in told):
                free.append(behaviour)
        self._behaviours = rng.shuffled(free)
        unused: list[FunctionPatch] = []
        for patch in world.patches.values():
            if taken.isdisjoint((patch.name, *patch.values.values())) and not any(
                name in patch.behaviour.call for name in told
            ):
                unused.append(patch)
        self._patches = rng.shuffled(unused)

    def usable(self, name: str) -> bool:
        """Return True where no word of the name but its ending is in the code; of a ticket not its number."""
        words = folded(name).split()
        return words[-1 if words[-1].isdigit() else 0] not in self._vocabulary.words

    def new(self, kind: str) -> str:
        return self._draw_real(kind, "") if kind in CODE_KINDS else super().new(kind)

    def similar_name(self, kind: str, name: str) -> str:
        """Return a call of the same function, a function of the same module, where there is one."""
        return self._draw_real(kind, name) if kind in CODE_KINDS else super().similar_name(kind, name)

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        if relation.name in EXECUTED:
            value = self._values[subject, relation.name]
            self._forget(value)
            return value
        while True:
            value = super().value(relation, subject=subject, other_than=other_than, rng=rng)
            # An agreed number that stands in the code could be guessed from it.
            if relation.value != "number" or not self._vocabulary.has(value):
                return value

    def _draw_real(self, kind: str, like: str) -> str:
        """Return a function, a call or a patch that was not there before. Raises LookupError where there is none left."""
        function = like.partition("(")[0]
        if kind == "function":
            module = like.rpartition(".")[0]
            name = _first(
                [symbol_id for symbol_id in self._functions if symbol_id.rpartition(".")[0] == module] or self._functions, kind
            )
            self._functions.remove(name)
            return name
        if kind == "patch":
            patch = _first(self._patches, kind)
            self._forget(patch.behaviour.call)
            self._forget(patch.miss.result.text)
            self._patches = [other for other in self._patches if other.name != patch.name]
            return patch.name
        taken = _first(
            [behaviour for behaviour in self._behaviours if behaviour.symbol_id == function] or self._behaviours, kind
        )
        self._forget(taken.call)
        self._forget(taken.result.text)
        return taken.call

    def _forget(self, text: str) -> None:
        """Take out calls that are this one or come to this, and patches that break such a call, come to this or turn this."""
        same = folded(text)
        self._behaviours = [
            behaviour for behaviour in self._behaviours if same not in (folded(behaviour.call), folded(behaviour.result.text))
        ]
        kept: list[FunctionPatch] = []
        for patch in self._patches:
            texts = (patch.behaviour.call, patch.behaviour.result.text, patch.miss.result.text, patch.miss.change)
            if same not in map(folded, texts):
                kept.append(patch)
        self._patches = kept


T = TypeVar("T")


def _first(pool: Sequence[T], kind: str) -> T:
    if not pool:
        raise LookupError(f"{'patche' if kind == 'patch' else kind}s enough")
    return pool[0]


class TeamWorld(FactWorld):
    """A team's notes on a package. `behaviours` are those that notes may tell."""

    write_prompt = "code_documents/write"
    standings = STANDINGS
    most_tokens = 400
    dated_titles = True
    spare_clusters = 3.0
    tells_why = True
    relations = RELATIONS
    document_kinds = NOTE_KINDS
    statuses = STATUSES
    shown_relations = SHOWN

    def __init__(self, sources: CodeSources, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary) -> None:
        self._sources = sources
        self.package = sources.package.name
        self.functions = [symbol.symbol_id for symbol in sources.symbols if symbol.kind == "function"]
        self.behaviours = keep_tellable(behaviours)
        self.patches = patches_of(self.behaviours)
        self.executed = executed_values(behaviours)
        self.vocabulary = vocabulary
        self._calls = {behaviour.call: behaviour for behaviour in self.behaviours}
        unknown: set[str] = set()
        if len({folded(behaviour.result.text) for behaviour in self.behaviours}) < FEWEST_CALLS:
            unknown.update(("call", "patch"))
        if len(self.patches) < FEWEST_PATCHES:
            unknown.add("patch")
        self.relations = [relation for relation in RELATIONS if unknown.isdisjoint((relation.subject, relation.value))]

    @classmethod
    def of(cls, sources: CodeSources, behaviours: CodeBehaviours, recipe: PackageRecipe) -> Self:
        """Return the team of a question."""
        return cls(sources, behaviours.behaviours, code_vocabulary(sources, recipe.packages))

    def entities(self, path: Sequence[object], taken: Set[str]) -> TeamNames:
        return TeamNames(self, SeededRandom(*path), taken)

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        if operation in ("since_when", "still_so"):
            known = [relation for relation in self.relations if relation.name in HELD]
            about_code = [relation for relation in known if CODE_KINDS & {relation.subject, relation.value}]
            return [self._path_to(rng.choice(known if hops > 1 else about_code).name, rng, hops)]
        if operation != "which_of_two":
            return [self._path_to(self._draw_end(rng) if hops > 1 else "", rng, hops)]
        compared = [relation for relation in self.relations if relation.name in COMPARED]
        while True:
            amount = rng.choice(compared)
            leading = [relation for relation in self.relations if relation.value == amount.subject and relation.disputed]
            if hops == 2 or leading:
                return [[*rng.sample(leading, hops - 2), amount], [amount]]

    def _path_to(self, end: str, rng: SeededRandom, hops: int) -> list[Relation]:
        """Return relations of which one is about code; the first may be disputed. `end`: the name of the last one, or any."""
        starts = [relation for relation in self.relations if relation.disputed]
        while True:
            path = [rng.choice(starts)]
            while len(path) < hops:
                fitting = [relation for relation in self.relations_of(path[-1].value) if relation not in path]
                if not fitting:
                    break
                path.append(rng.choice(fitting))
            about_code = any(CODE_KINDS & {relation.subject, relation.value} for relation in path)
            is_end = path[-1].name == end if end else path[-1].value != "call"
            if len(path) == hops and about_code and is_end:
                return path

    def _draw_end(self, rng: SeededRandom) -> str:
        """Return the relation that a question of a drawn kind ends in."""
        known = {relation.name for relation in self.relations}
        kinds = [[name for name in names if name in known] for names in QUESTION_KINDS.values()]
        return rng.choice(rng.choice(list(filter(None, [kinds[0], *kinds]))))

    def evidence(self, names: NameMaker, hop: Hop) -> tuple[Relation, str] | None:
        """Return the outcome of a call of the function that a note is about, if it is about one and shows none yet."""
        function = self.function_of(hop.subject) or self.function_of(hop.value)
        if not function or hop.relation in SHOWN:
            return None
        call = names.similar_name("call", function)
        return (self.relation(OUTCOME), call) if self.function_of(call) == function else None

    def belongs_with(self, relation: Relation, hop: Hop) -> bool:
        """Return False for what names another function than the one that the note is about, if it is about one."""
        about_function = self.function_of(hop.subject) or self.function_of(hop.value)
        return not about_function or relation.value not in CODE_KINDS or relation.name in EXECUTED

    def function_of(self, name: str) -> str:
        """Return the function that a function, a call or a patch is about; empty for another name."""
        if name in self.patches:
            return self.patches[name].behaviour.symbol_id
        function = name.partition("(")[0]
        return function if function in self.functions else ""

    def occasions_of(self, relation: Relation, status: Status) -> Sequence[Occasion]:
        return OCCASIONS.ordinary[relation.name]

    def causes_of(self, relation: Relation) -> Sequence[str]:
        return OCCASIONS.causes.get(relation.value, ())

    def session(self, statement: Statement) -> str:
        """Return the call as it is typed, and its result, or the traceback whose last line begins with the error's name."""
        call = self._calls.get(statement.subject)
        if call is None:
            return f"{PROMPT}{self.patches[statement.subject].behaviour.call}\n{statement.value}"
        frames, _, last = call.result.traceback.rpartition("\n")
        if not last or is_awkward(last):
            return f"{PROMPT}{call.call}\n{statement.value}"
        return f"{PROMPT}{call.call}\n{frames}\n{last}"

    def runs_with(self, statement: Statement) -> Mapping[str, str]:
        return {"applied": statement.subject} if statement.subject in self.patches else {}

    def material(self, plan: DocumentPlan) -> Mapping[str, str]:
        """A note is signed, dated with the latest day that it speaks of, and quotes the function that it is about, if any."""
        rng = SeededRandom(plan.document_id, "material")
        names = NameMaker(rng, name_kinds(self.package))
        people = {"author": names.new("person"), "colleague": names.new("person")}
        people["written_on"] = spoken(max(statement.as_of for statement in plan.statements))
        about = [statement for statement in plan.statements if statement.relation not in SHOWN]
        for statement in (*about, *plan.statements):
            function = self.function_of(statement.subject) or self.function_of(statement.value)
            if function:
                words = source_words(self._sources, function)
                code = {"function": words.name, "signature": words.signature, "docstring": words.doc}
                return {**people, **code, "line": rng.choice(words.lines)}
        return people


def stands_in_code(statement: Statement, sources: CodeSources, vocabulary: CodeVocabulary) -> str:
    """Return what the package's code holds of a decision, by text or syntax tree; empty for nothing.

    A function is no decision; that one function takes another's place is, and then neither may name the other.
    """
    functions = {symbol.symbol_id: symbol for symbol in sources.symbols}
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
