"""The team of session questions: the world of code questions, with rules that its tickets settled, of one call each."""

from collections.abc import Sequence, Set

from assets.code_qa.packages.vocabulary import CodeVocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.calls import is_awkward, keep_tellable
from assets.code_qa.team.names import TeamNames, first_left
from assets.code_qa.team.relations import OUTCOME, RULING
from assets.code_qa.team.world import TeamWorld
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import Hop, Status
from assets.memory_items.world.occasions import Occasion
from assets.memory_items.world.relations import NameMaker, Relation
from assets.recipe.document_tasks import Operation

MOST_CHARACTERS = 120  # of an assertion
WORKED_ON = "Colleagues who were away are told what came up while {subject} was worked on."
# What is said beside of a ticket; a ticket that settles a rule has no fault elsewhere.
ELSEWHERE = frozenset(("tested", "fault", "cause"))
# What a team agrees on of its use of a function.
CONVENTIONS = frozenset(("cached", "origin", "owner", "removal", "successor", "wrapper"))
# What tells which ticket or function is asked about: a question names neither, as one search by its name would find all.
LEADING = frozenset(("blocker", "duplicate", "entry", "successor"))


def assertion(function: str, arguments: Sequence[str], result: str) -> str:
    """Return what a call comes to as an assertion, with the function's own name alone."""
    return f"{function.rpartition('.')[2]}({', '.join(arguments)}) == {result}"


def assertions_of(behaviour: Behaviour) -> list[str]:
    """Return what may be settled of a call: what it comes to, and to what with one place changed; nothing of less than two."""
    results: list[str] = []
    for result in (behaviour.result, *(miss.result for miss in behaviour.near_misses)):
        if result.outcome == "returns":
            results.append(assertion(behaviour.symbol_id, behaviour.arguments, result.text))
    told = [text for text in results if len(text) <= MOST_CHARACTERS and not is_awkward(text)]
    return told if len(told) > 1 else []


class SessionNames(TeamNames):
    """The tickets and rules of a team. A ticket's rules are about one call, which no other ticket is about."""

    def __init__(self, world: "SessionWorld", rng: SeededRandom, taken: Set[str]) -> None:
        super().__init__(world.code, world.vocabulary, rng, taken)
        self._rules: dict[str, Sequence[str]] = {}
        self._free: list[Sequence[str]] = []
        by_function: list[list[list[str]]] = []
        for function in rng.shuffled(list(world.assertions)):
            by_function.append(rng.shuffled(world.assertions[function]))
        # A call of each function, then a second one of each: few tickets are about few functions otherwise.
        for place in range(max(map(len, by_function), default=0)):
            for own in by_function:
                if place < len(own) and taken.isdisjoint(own[place]):
                    self._free.append(rng.shuffled(own[place]))

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        if relation is not RULING:
            return super().value(relation, subject=subject, other_than=other_than, rng=rng)
        if subject not in self._rules:
            self._rules[subject] = first_left(self._free, "rule")
            self._free.remove(self._rules[subject])
        return first_left([rule for rule in self._rules[subject] if rule not in other_than], "rule")


class SessionWorld(TeamWorld):
    """Sessions of a team around one package: rules for its functions, and all that its notes tell beside.

    `assertions`: by function those of each of its calls.
    """

    statuses = ("plain", "plain", "plain", "certified")
    # With one rule a ticket, what counts would be known by its status, were there not much else of every status beside.
    aside_statuses = ("plain", "certified", "unconfirmed")
    asides_elsewhere = 1
    days_apart = 45

    def __init__(self, sources: CodeSources, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary) -> None:
        super().__init__(sources, behaviours, vocabulary)
        self.assertions: dict[str, list[list[str]]] = {}
        for behaviour in keep_tellable(behaviours):
            told = assertions_of(behaviour)
            if told:
                self.assertions.setdefault(behaviour.symbol_id, []).append(told)
        self.relations = [relation for relation in self.relations if relation.name not in ELSEWHERE] + [RULING]

    def occasions_of(self, relation: Relation, status: Status) -> Sequence[Occasion]:
        """Of whatever kind: a session of work tells anything else of its subject, of which one thing comes up."""
        return [Occasion(kind, WORKED_ON, also=tuple(other.name for other in self.relations)) for kind in self.document_kinds]

    def evidence(self, names: NameMaker, hop: Hop, kind: str) -> tuple[Relation, str]:
        """Every session ran a call, of the function that it is about where there is one."""
        function = self.code.function_of(hop.subject) or self.code.function_of(hop.value)
        return self.relation(OUTCOME), names.similar_name("call", function)

    def entities(self, path: Sequence[object], taken: Set[str]) -> SessionNames:
        return SessionNames(self, SeededRandom(*path), taken)

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return what is agreed about a function, or the rule of a ticket, behind what leads to it."""
        agreed = [relation for relation in self.relations if relation.name in CONVENTIONS]
        end = rng.choice(agreed) if operation == "convention" else RULING
        to_end = [relation for relation in self.relations if relation.name in LEADING and relation.value == end.subject]
        return [[*rng.sample([relation for relation in to_end if relation is not end], hops - 1), end]]
