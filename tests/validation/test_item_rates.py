"""The rate of wrong items that decoys show is the real one, also where readings err together."""

import asyncio

from tests.bench.item_rates import ErringJudge, bench_recipe, item_rates, made_users


def test_decoys_show_the_real_rate_where_a_judge_misreads_the_same_text_again() -> None:
    users = made_users(bench_recipe(2, decoys=10))
    apart, alike, together = (
        asyncio.run(item_rates(users, ErringJudge(0.2, again, 1), items=25))[0]
        for again in ("never", "in the same words", "always")
    )
    # With two of two votes 1 - (1 - .2 ** 2) ** 8 is .28; with votes that err together 1 - (1 - .2) ** 8 is .83.
    assert abs(apart.real - 0.28) < 0.2
    assert abs(alike.real - 0.28) < 0.2
    assert abs(together.real - 0.83) < 0.15
    assert together.decoys.value is not None
    assert abs(together.decoys.value - together.real) < 0.35
