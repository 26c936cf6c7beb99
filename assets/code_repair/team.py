"""The team of a repair: the world of code questions, with a rule for each function that it holds to."""

from collections.abc import Mapping, Sequence, Set

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


def assertions_of(behaviours: Sequence[Behaviour]) -> dict[str, list[str]]:
    """Return by function the assertions of one call: what it comes to, and to what with one place changed."""
    found: dict[str, list[str]] = {}
    for one in tellable(behaviours):
        if one.symbol_id in found or one.result.outcome != "returns":
            continue
        results = [one.result.text, *(miss.result.text for miss in one.near_misses if miss.result.outcome == "returns")]
        told = [text for text in (assertion(one.symbol_id, one.arguments, result) for result in results) if is_told(text)]
        if len(told) > 1:
            found[one.symbol_id] = told
    return found


def is_told(text: str) -> bool:
    """Return True for an assertion that stands in a session as it is."""
    return len(text) <= MOST_CHARACTERS and not is_awkward(text)


class RepairNames(TeamNames):
    """The functions and rules of a team; the function at fault comes first, and its settled rule before the other."""

    def __init__(self, world: "RepairWorld", rng: SeededRandom, taken: Set[str]) -> None:
        super().__init__(world, rng, taken)
        self._functions.sort(key=lambda name: name != world.function)
        self._world = world

    def value(self, relation: Relation, *, subject: str, other_than: Set[str], rng: SeededRandom) -> str:
        if relation is not RULING:
            return super().value(relation, subject=subject, other_than=other_than, rng=rng)
        free = [one for one in self._world.assertions[subject] if one not in other_than]
        if not free:
            raise LookupError("rules enough")
        return free[0] if subject == self._world.function else rng.choice(free)


class RepairWorld(TeamWorld):
    """Sessions of a team around one package: rules for functions, and all that its notes tell beside."""

    shares_values = False

    def __init__(
        self, sources: CodeSources, repair: Repair, behaviours: Sequence[Behaviour], vocabulary: CodeVocabulary
    ) -> None:
        super().__init__(sources, behaviours, vocabulary)
        first, second = repair.patches[:: 1 if repair.settled == 0 else -1]
        others = {name: told for name, told in assertions_of(behaviours).items() if name != repair.function}
        self.function = repair.function
        self.assertions: Mapping[str, Sequence[str]] = {repair.function: (first.rule, second.rule), **others}
        self.functions = [name for name in self.functions if name in self.assertions]
        self.relations = [*self.relations, RULING]

    def entities(self, path: Sequence[object], taken: Set[str]) -> RepairNames:
        return RepairNames(self, SeededRandom(*path), taken)

    def paths(self, rng: SeededRandom, hops: int, operation: Operation) -> list[list[Relation]]:
        """Return the rule of one function."""
        return [[RULING]]
