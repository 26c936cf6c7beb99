"""A cluster: a chain of facts, two parallel chains beside it, and the documents that tell them.

Filler is made of whole clusters of other entities, so that nothing but the entities tells a task's documents from filler.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import Role
from assets.memory_items.facts import DocumentPlan, Hop, Statement, Status
from assets.memory_items.world.occasions import Occasion
from assets.memory_items.world.relations import FactWorld, Relation, comparable, nearby_values, random_date
from assets.recipe.document_tasks import Operation

PARALLEL_CHAINS = 2
# By parallel, how many more members it has than what is counted: otherwise a count of the wrong ones would be right.
COUNTED_BESIDE = (0, 1, -1)
COMPARING = ("order", "most", "which_of_two")
ABOUT_DISPUTED = ("failed_path", "still_so")  # operations that ask about two documents which disagree
ABOUT_LAST = ("since_when", *ABOUT_DISPUTED)  # operations that need another value of the last fact
MOST_RIVALS_TRIED = 50
# Hops and parallel chains of small clusters, by which a task comes near its length without cutting one of them.
SMALL_CLUSTERS = ((1, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0), (4, 0))


@dataclass(frozen=True)
class FactCluster:
    chain: tuple[Hop, ...]
    plans: tuple[DocumentPlan, ...]


def make_cluster(
    world: FactWorld,
    hops: int,
    *,
    path: Sequence[object],
    taken: frozenset[str] = frozenset(),
    parallel_chains: int = PARALLEL_CHAINS,
    operation: Operation = "follow",
) -> FactCluster:
    """Return the cluster of this seeded path, with no entity whose name is among those taken.

    Raises LookupError where a world has not enough entities for it.
    """
    return _ClusterMaker(world, hops, path, taken, parallel_chains, operation).cluster()


def small_clusters(world: FactWorld, *, path: Sequence[object], max_hops: int) -> list[FactCluster]:
    """Return small clusters of this seeded path; fewer where the world has not enough entities."""
    found: list[FactCluster] = []
    for number, (hops, parallel_chains) in enumerate(SMALL_CLUSTERS):
        if hops <= max_hops:
            with suppress(LookupError):
                found.append(make_cluster(world, hops, path=(*path, "small", number), parallel_chains=parallel_chains))
    return found


def _ranks(chain: Sequence[Hop], operation: Operation) -> list[str]:
    """Return the subjects of what is compared in their order; the greatest alone where the others do not matter."""
    compared: list[Hop] = []
    for hop in chain[:-1] if operation == "most" else chain:
        if hop.relation == chain[0 if operation == "most" else -1].relation:
            compared.append(hop)
    in_order = [hop.subject for hop in sorted(compared, key=lambda hop: comparable(hop.value))]
    return in_order[-1:] if operation == "most" else in_order


class _ClusterMaker:
    def __init__(
        self,
        world: FactWorld,
        hops: int,
        path: Sequence[object],
        taken: frozenset[str],
        parallel_chains: int,
        operation: Operation,
    ) -> None:
        self._world = world
        self._path = path
        self._parallel_chains = parallel_chains
        self._operation = operation
        self._rng = SeededRandom(*path)
        self._names = world.entities((*path, "names"), taken)
        # One path for each part of the question.
        self._paths = world.paths(self._rng, hops, operation)
        self._relations = list(dict.fromkeys(itertools.chain.from_iterable(self._paths)))
        self._plans: list[DocumentPlan] = []
        self._occasions = Counter[Occasion]()

    def cluster(self) -> FactCluster:
        """Plan all documents; their order tells nothing."""
        chain, *parallel = self._chains()
        if self._world.settles_with_several:
            return self._settled_with_several([chain, *parallel])
        weighed: list[Hop] = []
        if self._operation == "weigh":
            weighed = self._plan_weighed(chain.pop(), [other.pop() for other in parallel])
        disputed = [number for number, hop in enumerate(chain) if self._world.relation(hop.relation).disputed]
        superseded = set(self._rng.sample(disputed, 1 + len(chain) // 4)) if not weighed else set[int]()
        if self._operation in ABOUT_LAST:
            superseded = {len(chain) - 1}
        later_counts: bool | None = None
        for number, hop in enumerate(chain):
            rival = hop.value
            if number in superseded:
                rival = self._rival(chain, number, [other[number].value for other in parallel if number < len(other)])
            if rival != hop.value:
                later_counts = self._plan_superseded(hop, rival)
            else:
                self._plan_undisputed("support", hop)
        if self._operation in ABOUT_DISPUTED:
            # The only two that disagree would be known without the way to them: others do so too, and it comes to the opposite.
            other = parallel[0]
            rival = self._rival(other, len(other) - 1, [chain[-1].value])
            self._plan_superseded(other.pop(), rival, roles=("sibling", "sibling"), later_counts=not later_counts)
        for other in parallel:
            for hop in other:
                self._plan_undisputed("sibling", hop)
        if self._operation == "most":
            self._plan_values_of_others(chain)
        # Half of the hops, rounded up, have a near miss.
        asked = [*chain, *weighed]
        for hop in self._rng.sample([*chain, *weighed[:1]], -(-len(asked) // 2)):
            self._plan_near_miss(hop, self._world.relation(hop.relation))
        return FactCluster(tuple(asked), tuple(sorted(self._plans, key=lambda plan: plan.document_id)))

    def _settled_with_several(self, subjects: Sequence[Sequence[Hop]]) -> FactCluster:
        """Plan the same documents for each subject. The first is asked about; the last one has a name like the first's.

        A subject that more documents speak of than of any other would be known as the one that is asked about.
        """
        chain = subjects[0]
        superseded = self._rng.sample(range(len(chain)), self._world.num_disputed(len(chain)))
        undone = next((number for number in superseded if chain[number].relation in self._world.undoing), None)
        undoing: list[Hop] = []
        for place, hops in enumerate(subjects):
            role: Role = "near_miss" if place == PARALLEL_CHAINS else "sibling"
            rivals = subjects[(place + 1) % len(subjects)]
            for number, hop in enumerate(hops):
                if number not in superseded:
                    self._plan_undisputed(role if place else "support", hop)
                    continue
                rival = rivals[number].value
                if rival == hop.value:
                    rival = self._value(self._world.relation(hop.relation), hop.subject, {hop.value})
                roles: tuple[Role, Role] = (role, role) if place else ("support", "superseded")
                if number == undone:
                    undoing.append(self._plan_undone(hop, rival, roles=roles))
                else:
                    self._plan_superseded(hop, rival, roles=roles)
        return FactCluster((*chain, *undoing[:1]), tuple(sorted(self._plans, key=lambda plan: plan.document_id)))

    def _chains(self) -> list[list[Hop]]:
        """Return the facts of the question and those of its parallels; values at the ends of parts differ where possible."""
        chains: list[list[Hop]] = []
        ends: set[str] = set()
        for number in range(1 + self._parallel_chains):
            if self._operation == "count":
                chains.append(self._draw_counted(more=COUNTED_BESIDE[number]))
            elif self._operation == "most":
                chains.append(self._draw_compared(ends))
            elif self._world.settles_with_several:
                chains.append(self._draw_settled(ends, like=chains[0][-1].subject if number == PARALLEL_CHAINS else ""))
            else:
                hops: list[Hop] = []
                for relations in self._paths:
                    hops += self._chain(relations, ends)
                chains.append(hops)
        return chains

    def _chain(self, relations: Sequence[Relation], ends: set[str]) -> list[Hop]:
        """Return a chain from a new subject; its last value differs from those at the ends so far, and joins them."""
        subject = self._names.new(relations[0].subject)
        chain: list[Hop] = []
        for relation in relations:
            value = self._value(relation, subject, ends)
            chain.append(Hop(subject=subject, relation=relation.name, value=value))
            subject = value
        ends.add(subject)
        return chain

    def _draw_counted(self, *, more: int) -> list[Hop]:
        """Return a chain to a value, if there is one, and several subjects that have this value, so many more than planned."""
        *leading, members = self._paths
        chain = self._chain(leading[0], set()) if leading else []
        relation = members[0]
        value = chain[-1].value if chain else self._names.new(relation.value)
        for _ in range(len(members) + more):
            chain.append(Hop(subject=self._names.new(relation.subject), relation=relation.name, value=value))
        return chain

    def _draw_settled(self, ends: set[str], *, like: str) -> list[Hop]:
        """Return what was settled of several matters with one new subject; no value is among those at the ends so far.

        The subject's name is easily taken for the one that is given, if any.
        """
        kind = self._relations[0].subject
        subject = self._names.similar_name(kind, like) if like else self._names.new(kind)
        hops: list[Hop] = []
        found_by = self._world.found_by
        if found_by:
            hops.append(Hop(subject=self._names.new(found_by.subject), relation=found_by.name, value=subject))
        for relation in self._relations:
            value = self._value(relation, subject, ends)
            ends.add(value)
            hops.append(Hop(subject=subject, relation=relation.name, value=value))
        return hops

    def _draw_compared(self, ends: set[str]) -> list[Hop]:
        """Return a number or date of several subjects, and another value of the one with the greatest."""
        *compared, then = self._paths
        hops: list[Hop] = []
        for relations in compared:
            hops += self._chain(relations, ends)
        greatest = max(hops, key=lambda hop: comparable(hop.value))
        value = self._value(then[0], greatest.subject, ends)
        ends.add(value)
        return [*hops, Hop(subject=greatest.subject, relation=then[0].name, value=value)]

    def _plan_values_of_others(self, chain: Sequence[Hop]) -> None:
        """Plan documents that say of the others that were compared what is asked about the one with the greatest value."""
        last = chain[-1]
        relation = self._world.relation(last.relation)
        for hop in chain[:-1]:
            if hop.subject != last.subject:
                value = self._value(relation, hop.subject, {last.value})
                self._plan_undisputed("sibling", Hop(subject=hop.subject, relation=relation.name, value=value))

    def _plan_weighed(self, hop: Hop, parallel: Sequence[Hop]) -> list[Hop]:
        """Plan four documents that disagree: the one that counts, the latest unconfirmed one, and two that neither are.

        Return the value that counts and the latest unconfirmed one. `parallel`: what others have, in documents of their own.
        """
        relation = self._world.relation(hop.relation)
        latest, earlier, plain = nearby_values(relation, hop.value, 3, rng=self._rng)
        days = sorted({random_date(self._rng, self._world.days) for _ in range(16)})[-4:]
        certified = self._rng.bernoulli(0.5)
        # Without what counts, a plain document would count: an earlier one, or beside a certified one any other.
        counting, other = (days[1], days[2]) if certified else (days[2], days[1])
        self._plan("support", hop, day=counting, status="certified" if certified else "plain")
        self._plan("superseded", hop.model_copy(update={"value": plain}), day=other, status="plain")
        doubted = hop.model_copy(update={"value": latest})
        self._plan("support", doubted, day=days[3], status="unconfirmed")
        self._plan("superseded", hop.model_copy(update={"value": earlier}), day=days[0], status="unconfirmed")
        for sibling in parallel:
            self._plan_undisputed("sibling", sibling)
        return [hop, doubted]

    def _rival(self, chain: Sequence[Hop], number: int, parallel: Sequence[str]) -> str:
        """Return a value that a document may give instead of a hop's: that of a parallel, or a new one where there is none.

        Where values are compared, it is one that would lead to another answer; the hop's own where none is found.
        """
        hop = chain[number]
        relation = self._world.relation(hop.relation)
        asked_of_greatest = self._operation == "most" and number == len(chain) - 1
        if relation.leads_on or self._operation not in COMPARING or asked_of_greatest:
            may_be_shared = parallel and not relation.fits_one
            return self._rng.choice(parallel) if may_be_shared else self._value(relation, hop.subject, {hop.value})
        ranks = _ranks(chain, self._operation)
        for _ in range(MOST_RIVALS_TRIED):
            rival = self._value(relation, hop.subject, {other.value for other in chain})
            changed = [*chain[:number], hop.model_copy(update={"value": rival}), *chain[number + 1 :]]
            if _ranks(changed, self._operation) != ranks:
                return rival
        return hop.value

    def _value(self, relation: Relation, subject: str, other_than: set[str]) -> str:
        return self._names.value(relation, subject=subject, other_than=other_than, rng=self._rng)

    def _plan_superseded(
        self,
        hop: Hop,
        rival: str,
        *,
        roles: tuple[Role, Role] = ("support", "superseded"),
        later_counts: bool | None = None,
    ) -> bool:
        """Plan two documents that disagree: an earlier day, or a weaker status, loses against the one that counts.

        `roles`: those of what counts, and of what does not. Return whether the later day counts, which may be given.
        """
        counts, loses = roles
        earlier, later = sorted((random_date(self._rng, self._world.days), random_date(self._rng, self._world.days)))
        while earlier == later:
            later = max(earlier, random_date(self._rng, self._world.days))
        wrong = hop.model_copy(update={"value": rival})
        by_rank = later_counts is None and self._world.written_counts and self._rng.bernoulli(0.5)
        if later_counts is None:
            later_counts = not by_rank and self._rng.bernoulli(0.5)
        if by_rank:
            self._plan(counts, hop, day=earlier, status="certified")
            self._plan(loses, wrong, day=later, status="plain")
        elif later_counts:
            status = self._rng.choice(self._world.statuses)
            self._plan(counts, hop, day=later, status=status, is_new=self._world.tells_why)
            self._plan(loses, wrong, day=earlier, status=status)
        else:
            # Rarely enough that a certified document is no more likely to be asked about than another.
            is_stronger = self._rng.integer_below(4) == 0 and "certified" in self._world.statuses
            stronger: Status = "certified" if is_stronger else "plain"
            self._plan(counts, hop, day=earlier, status=stronger)
            self._plan(loses, wrong, day=later, status="unconfirmed")
        return later_counts

    def _plan_undone(self, hop: Hop, rival: str, *, roles: tuple[Role, Role]) -> Hop:
        """Plan what counts, a later certified value, and a document that undoes the latter, of which the hop is returned."""
        counts, loses = roles
        first, second, third = sorted({random_date(self._rng, self._world.days) for _ in range(16)})[:3]
        self._plan(counts, hop, day=first, status=self._rng.choice(self._world.statuses))
        self._plan(loses, hop.model_copy(update={"value": rival}), day=second, status="certified")
        undone = hop.model_copy(update={"relation": self._world.undoing[hop.relation].name, "value": rival})
        self._plan(counts, undone, day=third, status="certified")
        return undone

    def _plan_near_miss(self, hop: Hop, relation: Relation) -> None:
        """The same said of a subject whose name is easily taken for the chain's."""
        subject = self._names.similar_name(relation.subject, hop.subject)
        value = self._value(relation, subject, {hop.value})
        self._plan_undisputed("near_miss", hop.model_copy(update={"subject": subject, "value": value}))

    def _plan_undisputed(self, role: Role, hop: Hop) -> None:
        day = random_date(self._rng, self._world.days)
        status = self._rng.choice(self._world.statuses)
        # As much of what nobody asks about is new as of what is asked about; what held before is in no document.
        told = self._world.tells_why and role != "support" and not self._world.settles_with_several
        self._plan(role, hop, day=day, status=status, is_new=told and self._rng.integer_below(5) == 0)

    def _plan(self, role: Role, hop: Hop, *, day: date, status: Status, is_new: bool = False) -> None:
        said = [Statement(**dict(hop), as_of=day, status=status, is_new=is_new)]
        relation = self._world.relation(hop.relation)
        # What says who is meant is about that person.
        about = hop.subject if relation is not self._world.found_by else hop.value
        kind = relation.subject if relation is not self._world.found_by else relation.value
        occasion = self._draw_occasion(relation, status)
        said.extend(self._asides(hop, said[0], occasion, about=about, kind=kind))
        number = len(self._plans)
        document_id = hashlib.sha256("\x1f".join(map(str, (*self._path, number))).encode()).hexdigest()[:12]
        plan = DocumentPlan(
            document_id=document_id,
            kind=occasion.kind,
            subject=about,
            role=role,
            occasion=occasion.reason.replace("{subject}", about),
            statements=tuple(self._rng.shuffled(said)),
        )
        self._plans.append(plan)

    def _draw_occasion(self, relation: Relation, status: Status) -> Occasion:
        """Return one of those that the cluster has least: a plot that comes again is no coincidence to who reads all."""
        occasions = self._world.occasions_of(relation, status)
        if self._world.settles_with_several:  # what goes on in its sessions is no plot
            return self._rng.choice(occasions)
        fewest = min(self._occasions[occasion] for occasion in occasions)
        drawn = self._rng.choice([occasion for occasion in occasions if self._occasions[occasion] == fewest])
        self._occasions[drawn] += 1
        return drawn

    def _asides(self, hop: Hop, main: Statement, occasion: Occasion, *, about: str, kind: str) -> Iterator[Statement]:
        """Yield other statements about a subject, and some about others, of relations that no chain has."""
        known: set[str] = set()
        for plan in self._plans:
            if plan.subject == about:
                known.update(statement.relation for statement in plan.statements)
        about_subject: list[Relation] = []
        about_others: list[Relation] = []
        for relation in self._world.relations:
            if relation in self._relations or relation is self._world.found_by:
                continue
            fits = occasion.also is None or relation.name in occasion.also
            if fits and relation.subject == kind and relation.name not in known and self._world.belongs_with(relation, hop):
                about_subject.append(relation)
            if relation.disputed:
                about_others.append(relation)
        for relation in self._rng.sample(about_subject, 1 + self._rng.integer_below(2) if occasion.also is None else 1):
            yield self._aside(about, relation, main)
        with suppress(LookupError):
            shown = self._world.evidence(self._names, hop, occasion.kind)
            if shown is not None:
                relation, subject = shown
                yield self._aside(subject, relation, main)
        if self._world.asides_elsewhere:
            for relation in self._rng.sample(about_others, 1 + self._rng.integer_below(self._world.asides_elsewhere)):
                with suppress(LookupError):  # a world whose entities are used up has fewer asides
                    yield self._aside(self._names.new(relation.subject), relation, main)

    def _aside(self, subject: str, relation: Relation, main: Statement) -> Statement:
        value = self._value(relation, subject, set())
        apart = self._world.days_apart
        as_of = main.as_of - timedelta(days=self._rng.integer_below(apart)) if apart else main.as_of
        status = self._rng.choice(self._world.aside_statuses or (main.status,))
        return Statement(subject=subject, relation=relation.name, value=value, as_of=as_of, status=status)
