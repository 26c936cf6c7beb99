"""A cluster: a chain of facts, two parallel chains beside it, and the documents that tell them.

Filler is made of whole clusters of other entities, so that nothing but the entities tells a task's documents from filler.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import Role
from assets.memory_items.facts import DocumentPlan, Hop, Statement, Status
from assets.memory_items.world.relations import Relation, World, random_date

PARALLEL_CHAINS = 2
ASIDE_STATUSES: tuple[Status, ...] = ("plain", "plain", "plain", "certified", "unconfirmed")


@dataclass(frozen=True)
class FactCluster:
    chain: tuple[Hop, ...]
    plans: tuple[DocumentPlan, ...]


def make_cluster(
    world: World,
    hops: int,
    *,
    path: Sequence[object],
    taken: frozenset[str] = frozenset(),
    parallel_chains: int = PARALLEL_CHAINS,
) -> FactCluster:
    """Return the cluster of this seeded path, with no entity whose name is among those taken.

    Raises LookupError where a world has not enough entities for it.
    """
    return _ClusterMaker(world, hops, path, taken, parallel_chains).cluster()


class _ClusterMaker:
    def __init__(self, world: World, hops: int, path: Sequence[object], taken: frozenset[str], parallel_chains: int) -> None:
        self._world = world
        self._path = path
        self._parallel_chains = parallel_chains
        self._rng = SeededRandom(*path)
        self._names = world.entities((*path, "names"), taken)
        self._relations = world.path(self._rng, hops)
        self._plans: list[DocumentPlan] = []

    def cluster(self) -> FactCluster:
        """Plan all documents; their order tells nothing."""
        chain, *parallel = self._chains()
        disputed = [number for number, relation in enumerate(self._relations) if relation.disputed]
        superseded = set(self._rng.sample(disputed, 1 + len(chain) // 4))
        for number, hop in enumerate(chain):
            rival = hop.value
            if number in superseded:
                rival = self._rival(hop, [other[number].value for other in parallel])
            if rival != hop.value:
                self._plan_superseded(hop, rival)
            else:
                self._plan_undisputed("support", hop)
        for other in parallel:
            for hop in other:
                self._plan_undisputed("sibling", hop)
        # Half of the hops, rounded up, have a near miss.
        for number in self._rng.sample(range(len(chain)), -(-len(chain) // 2)):
            self._plan_near_miss(chain[number], self._relations[number])
        return FactCluster(tuple(chain), tuple(sorted(self._plans, key=lambda plan: plan.document_id)))

    def _chains(self) -> list[list[Hop]]:
        """Return the chain and its parallels, whose last values differ from each other where that is possible."""
        chains: list[list[Hop]] = []
        ends: set[str] = set()
        for _ in range(1 + self._parallel_chains):
            subject = self._names.new(self._relations[0].subject)
            chain: list[Hop] = []
            for relation in self._relations:
                value = self._value(relation, subject, ends)
                chain.append(Hop(subject=subject, relation=relation.name, value=value))
                subject = value
            ends.add(subject)
            chains.append(chain)
        return chains

    def _rival(self, hop: Hop, parallel: Sequence[str]) -> str:
        """Return a value that a document may give instead: that of a parallel chain, or a new one where there is none."""
        if parallel:
            return self._rng.choice(parallel)
        return self._value(self._world.relation(hop.relation), hop.subject, {hop.value})

    def _value(self, relation: Relation, subject: str, other_than: set[str]) -> str:
        return self._names.value(relation, subject=subject, other_than=other_than, rng=self._rng)

    def _plan_superseded(self, hop: Hop, rival: str) -> None:
        """Two documents that disagree: an earlier day, or a weaker status, loses against the one that counts."""
        earlier, later = sorted((random_date(self._rng), random_date(self._rng)))
        while earlier == later:
            later = max(earlier, random_date(self._rng))
        wrong = hop.model_copy(update={"value": rival})
        if self._rng.bernoulli(0.5):
            status = self._rng.choice(self._world.statuses)
            self._plan("support", hop, day=later, status=status)
            self._plan("superseded", wrong, day=earlier, status=status)
        else:
            stronger: Status = "certified" if self._rng.bernoulli(0.5) else "plain"
            self._plan("support", hop, day=earlier, status=stronger)
            self._plan("superseded", wrong, day=later, status="unconfirmed")

    def _plan_near_miss(self, hop: Hop, relation: Relation) -> None:
        """The same said of a subject whose name is easily taken for the chain's."""
        subject = self._names.alike(relation.subject, hop.subject)
        value = self._value(relation, subject, {hop.value})
        self._plan_undisputed("near_miss", hop.model_copy(update={"subject": subject, "value": value}))

    def _plan_undisputed(self, role: Role, hop: Hop) -> None:
        self._plan(role, hop, day=random_date(self._rng), status=self._rng.choice(self._world.statuses))

    def _plan(self, role: Role, hop: Hop, *, day: date, status: Status) -> None:
        said = [Statement(subject=hop.subject, relation=hop.relation, value=hop.value, as_of=day, status=status)]
        said.extend(self._asides(hop, day))
        number = len(self._plans)
        document_id = hashlib.sha256("\x1f".join(map(str, (*self._path, number))).encode()).hexdigest()[:12]
        kind = self._rng.choice(self._world.document_kinds_about(self._world.relation(hop.relation).subject))
        plan = DocumentPlan(
            document_id=document_id, kind=kind, subject=hop.subject, role=role, statements=tuple(self._rng.shuffled(said))
        )
        self._plans.append(plan)

    def _asides(self, hop: Hop, day: date) -> Iterator[Statement]:
        """Yield one or two other statements about the subject, and some about others, of relations that no chain has."""
        known: set[str] = set()
        for plan in self._plans:
            if plan.subject == hop.subject:
                known.update(statement.relation for statement in plan.statements)
        about_subject: list[Relation] = []
        about_others: list[Relation] = []
        kind = self._world.relation(hop.relation).subject
        for relation in self._world.relations:
            if relation in self._relations:
                continue
            if relation.subject == kind and relation.name not in known:
                about_subject.append(relation)
            if relation.disputed:
                about_others.append(relation)
        for relation in self._rng.sample(about_subject, 1 + self._rng.integer_below(2)):
            yield self._aside(hop.subject, relation, day)
        if self._world.asides_elsewhere:
            for relation in self._rng.sample(about_others, 1 + self._rng.integer_below(self._world.asides_elsewhere)):
                with suppress(LookupError):  # a world whose entities are used up has fewer asides
                    yield self._aside(self._names.new(relation.subject), relation, day)

    def _aside(self, subject: str, relation: Relation, day: date) -> Statement:
        value = self._value(relation, subject, set())
        apart = self._world.days_apart
        as_of = day - timedelta(days=self._rng.integer_below(apart)) if apart else random_date(self._rng)
        status = self._rng.choice(ASIDE_STATUSES)
        return Statement(subject=subject, relation=relation.name, value=value, as_of=as_of, status=status)
