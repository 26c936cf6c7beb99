"""The invented world: seeded, big, and in pieces that have one path each."""

from collections import Counter

from assets.deep_research.fiction import WORLD
from assets.memory_items.chains import path_problems, planned_chain
from assets.memory_items.world.clusters import make_cluster
from tests.support.research_tasks import made_task, small_recipe, worlds


def test_a_task_follows_from_seed_and_position_alone() -> None:
    many, few = (worlds(small_recipe(num_tasks=number, min_hops=2, max_hops=3)) for number in (9, 4))
    assert many[:4] == few
    assert worlds(small_recipe(seed=43))[0] != few[0]
    assert Counter(len(world.chain) for world in worlds(small_recipe(num_tasks=8, max_hops=3))) == {2: 4, 3: 4}


def test_tasks_share_hardly_any_name() -> None:
    chains = [make_cluster(WORLD, 5, path=(42, number)).chain for number in range(300)]
    names = Counter(hop.subject for chain in chains for hop in chain)
    assert max(names.values()) <= 2
    assert sum(count > 1 for count in names.values()) < 0.01 * len(names)


def test_every_hop_leads_to_the_next_and_a_superseded_value_does_not_count() -> None:
    for number in range(30):
        cluster = make_cluster(WORLD, 4, path=(1, number))
        for before, after in zip(cluster.chain, cluster.chain[1:], strict=False):
            assert before.value == after.subject
            assert WORLD.relation(before.relation).value == WORLD.relation(after.relation).subject
        roles = Counter(plan.role for plan in cluster.plans)
        assert (roles["support"], roles["sibling"], roles["near_miss"]) == (4, 8, 2)
        assert roles["superseded"] == 2


def test_the_facts_of_a_told_task_have_one_path() -> None:
    task = made_task()
    hops = planned_chain(task.world.chain, task.facts.facts)
    assert tuple(hops) == task.question.hops
    assert list(path_problems(hops, task.facts.facts)) == []
