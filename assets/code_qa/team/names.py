"""The names of a team's world: people, services, wrappers and tickets that no code has, and what the code has."""

from collections.abc import Mapping, Sequence, Set
from typing import TypeVar

from assets.code_qa.packages.vocabulary import CodeVocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.team.calls import FunctionPatch, TeamCode
from assets.code_qa.team.relations import EXECUTED, NUMBERS
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import NameKind, NameMaker, Relation
from assets.text.words import folded

# Who writes notes is none of those that they tell of: a name below a note would read like an answer.
WRITERS = """
Ada Amir Anouk Bianca Bogdan Cem Chiara Dalia Dario Eamon Elif Enzo Fiona Gita Goran Hana Hugo Ines Ivo Jelena Joris Kavya
Kofi Lena Leon Maeve Marek Mina Nadia Nils Noor Olga Omar Petra Rana Ravi Samir Sanna Tess Tomas Uma Viktor Yara Zora
""".split()  # noqa: SIM905
COLLEAGUES = """
Adaeze Agnes Alba Alvaro Amara Anders Anil Antje Aisha Arda Aylin Bastian Beatriz Benoit Birgit Bram Camila Carmen Cedric
Clara Cosmin Daan Daphne Deepa Delphine Diego Dilan Dmitri Edda Eduardo Elena Emeka Esra Farah Felix Freya Gabriel Gaspard
Greta Gustav Hanneke Harun Helga Henrik Ibrahim Ilse Imran Irina Isabel Jamal Jasper Johanna Julian Jun Kaito Karim Katya
Kirsten Laila Laszlo Leila Linnea Lorenzo Lucia Ludo Magnus Malik Manon Mariam Mateo Matilda Meera Mehmet Milos Nadja Naomi
Nikhil Ottilie Oskar Paolo Pauline Pavel Piotr Priya Quentin Rafael Ramona Renata Rohan Rosa Ruben Sabine Sandro Selma
Simone Soren Stefan Sunita Svenja Tadeusz Tamara Tariq Teresa Thijs Tobias Ursula Valeria Vera Vikram Wanda Wim Ximena
Yannick Yasmin Yusuf Zeynep
""".split()  # noqa: SIM905
SERVICES = """
billing invoice parcel payroll tariff voucher dispatch loyalty customs fleet roster claims pricing refund catalog permit
harbour tenant meter subsidy courier clinic ticketing warehouse pension lending auction donor vendor transit grocery
festival insurance
""".split()  # noqa: SIM905
SERVICE_ENDS = """
import export intake digest mirror ledger relay sweep feed archive gateway sync
""".split()  # noqa: SIM905
REGIONS = ("", "-eu", "-us", "-apac", "-latam", "-north", "-beta")
WRAPS = """
safe checked guarded lenient quiet cached logged traced timed bounded audited retrying patient careful tidy trusted shared
nightly interim frozen thin narrow clean verbose prudent legacy loud sober stubborn polite
""".split()  # noqa: SIM905
CODE_KINDS = frozenset(("function", "call", "patch"))


def _service(rng: SeededRandom) -> str:
    return f"{rng.choice(SERVICES)}-{rng.choice(SERVICE_ENDS)}{rng.choice(REGIONS)}"


def _sister_service(name: str, rng: SeededRandom) -> str:
    return f"{name.partition('-')[0]}-{rng.choice(SERVICE_ENDS)}{rng.choice(REGIONS)}"


def name_kinds(package: str) -> Mapping[str, NameKind]:
    """Return the kinds of names of a team around this package; its tickets begin with letters of the package's name."""
    prefix = "".join(filter(str.isalpha, package))[:3].upper()

    def ticket(rng: SeededRandom) -> str:
        return f"{prefix}-{NUMBERS[0] + rng.integer_below(NUMBERS[1] - NUMBERS[0])}"

    def near_ticket(name: str, rng: SeededRandom) -> str:
        return f"{name[:-1]}{rng.integer_below(10)}"

    return {
        "person": NameKind(lambda rng: rng.choice(COLLEAGUES), lambda _, rng: rng.choice(COLLEAGUES)),
        "service": NameKind(_service, _sister_service),
        "ticket": NameKind(ticket, near_ticket),
    }


class TeamNames(NameMaker):
    """Invented names that the package's code has no word of; its functions, calls of them and patches are real."""

    def __init__(self, code: TeamCode, vocabulary: CodeVocabulary, rng: SeededRandom, taken: Set[str]) -> None:
        super().__init__(rng, name_kinds(code.package), taken)
        self._code = code
        self._vocabulary = vocabulary
        taken_functions = set(map(code.function_of, taken))
        self._functions = rng.shuffled([function for function in code.functions if function not in taken_functions])
        # A call in which a taken name stands would tell it as well.
        told = tuple(name.strip("'\"") for name in taken)
        free: list[Behaviour] = []
        for behaviour in code.behaviours:
            if behaviour.result.text not in taken and not any(name in behaviour.call for name in told):
                free.append(behaviour)
        self._behaviours = sorted(rng.shuffled(free), key=lambda behaviour: behaviour.call not in code.shown)
        unused: list[FunctionPatch] = []
        for patch in code.patches.values():
            if taken.isdisjoint((patch.name, *patch.values.values())) and not any(
                name in patch.behaviour.call for name in told
            ):
                unused.append(patch)
        self._patches = sorted(rng.shuffled(unused), key=lambda patch: patch.behaviour.call not in code.shown)

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
            value = self._code.executed[subject, relation.name]
            self._forget(value)
            return value
        if relation.value == "wrapper":
            bare = subject.rpartition(".")[2]
            return self._unlike_others(lambda: f"{rng.choice(WRAPS)}_{bare}")
        if relation.name == "successor":
            return self._draw_function(self._code.alternatives(subject))
        while True:
            value = super().value(relation, subject=subject, other_than=other_than, rng=rng)
            # An agreed number that stands in the code could be guessed from it.
            if relation.value != "number" or not self._vocabulary.has(value):
                return value

    def _draw_real(self, kind: str, like: str) -> str:
        """Return a function, a call or a patch that was not there before. Raises LookupError where there is none left."""
        function = self._code.function_of(like)
        if kind == "function":
            return self._draw_function(self._code.related(function) if function else self._functions)
        if kind == "patch":
            patch = first_left(self._patches, kind)
            self._forget(patch.behaviour.call)
            self._forget(patch.miss.result.text)
            self._patches = [other for other in self._patches if other.name != patch.name]
            return patch.name
        taken = first_left(
            [call for call in self._behaviours if self._code.function_of(call.symbol_id) == function] or self._behaviours, kind
        )
        self._forget(taken.call)
        self._forget(taken.result.text)
        return taken.call

    def _draw_function(self, pool: Sequence[str]) -> str:
        """Return the first of these that was not there before."""
        name = first_left([name for name in pool if name in self._functions], "function")
        self._functions.remove(name)
        return name

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


def first_left(pool: Sequence[T], kind: str) -> T:
    if not pool:
        raise LookupError(f"{'patche' if kind == 'patch' else kind}s enough")
    return pool[0]
