"""The team of a repair: the world of code questions, with rules that its tickets settled, of one call each."""

from collections.abc import Sequence, Set

from assets.code_qa.packages.vocabulary import CodeVocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.relations import RULING
from assets.code_qa.team.world import TeamNames, TeamWorld, is_awkward, tellable
from assets.code_repair.copy import assertion
from assets.code_repair.records import Repair
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import Operation

MOST_CHARACTERS = 120  # of an assertion
# What is said beside of a ticket; a ticket that settles a rule has no fault elsewhere.
ELSEWHERE = frozenset(("repro", "fault", "cause"))


def assertions_of(behaviour: Behaviour) -> list[str]:
    """Return what may be settled of a call: what it comes to, and to what with one place changed; nothing of less than two."""
    results: list[str] = []
    for result in (behaviour.result, *(miss.result for miss in behaviour.near_misses)):
        if result.outcome == "returns":
            results.append(assertion(behaviour.symbol_id, behaviour.arguments, result.text))
    told = [text for text in results if is_told(text)]
    return told if len(told) > 1 else []


def is_told(text: str) -> bool:
    """Return True for an assertion that a session states as it is."""
    return len(text) <= MOST_CHARACTERS and not is_awkward(text)


class RepairNames(TeamNames):
    """The tickets and rules of a team. The first ticket of a task's own sessions settles the repair."""

    def __init__(self, world: "RepairWorld", rng: SeededRandom, taken: Set[str]) -> None:
        super().__init__(world, rng, taken)
        # Rules by ticket. Those of the repair are taken where sessions are filler.
        self._rules: dict[str, Sequence[str]] = {}
        self._free: list[Sequence[str]] = [] if world.rules[0] in taken else [world.rules]
        functions = rng.shuffled(list(world.assertions))
        by_function = [rng.shuffled(world.assertions[function]) for function in functions]
        for place in range(max(map(len, by_function), default=0)):
            self._free += [rng.shuffled(own[place]) for own in by_function if place < len(own)]

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        if relation is not RULING:
            return super().value(relation, subject=subject, other_than=other_than, rng=rng)
        if subject not in self._rules:
            if not self._free:
                raise LookupError("rules enough")
            self._rules[subject] = self._free.pop(0)
        free = [one for one in self._rules[subject] if one not in other_than]
        if not free:
            raise LookupError("rules enough")
        return free[0]


class RepairWorld(TeamWorld):
    """Sessions of a team around one package: rules for its functions, and all that its notes tell beside.

    `rules`: those of both patches, the settled one first. `assertions`: by function those of each of its other calls.
    """

    shares_values = False
    # With one rule a ticket, what counts would be known by its status, were there not much else of every status beside.
    aside_statuses = ("plain", "certified", "unconfirmed")
    asides_elsewhere = 3

    def __init__(
        self, sources: CodeSources, repair: Repair, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary
    ) -> None:
        super().__init__(sources, behaviours, vocabulary)
        self.rules = (repair.rule, repair.patches[1 - repair.settled].rule)
        failing = assertion(repair.function, repair.arguments, "")
        self.assertions: dict[str, list[list[str]]] = {}
        for one in tellable(behaviours):
            told = assertions_of(one)
            # By the name alone: functions of different modules may have the same.
            if told and assertion(one.symbol_id, one.arguments, "") != failing:
                self.assertions.setdefault(one.symbol_id, []).append(told)
        self.relations = [one for one in self.relations if one.name not in ELSEWHERE] + [RULING]

    def entities(self, path: Sequence[object], taken: Set[str]) -> RepairNames:
        return RepairNames(self, SeededRandom(*path), taken)

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return the rule of one ticket."""
        return [[RULING]]
