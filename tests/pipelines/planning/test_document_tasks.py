"""What deep research is foreseen to take: as many calls as a task really makes, at every stage."""

from collections import Counter
from pathlib import Path

import pytest

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.deep_research.questions import READING
from pipelines.cli.costs import plan
from pipelines.errors import Problem
from pipelines.planning.forecast import Terms, forecast_variant
from pipelines.resources.ledger.prices import OwnPrice, Prices
from tests.support.research_tasks import made_task, small_recipe

TERMS = Terms(Prices({"gpt-4.1": OwnPrice(input=2, output=8)}), calls_at_once=8, items_at_once=8)


def test_the_readings_of_the_last_ablation_are_those_that_a_task_has() -> None:
    made, recipe = made_task(), small_recipe()
    read = Counter(vote.gate for vote in made.ablation.gate_records)

    assert sum(read.values()) == recipe.ablation.votes * len(READING.of_readings(recipe))
    assert DEEP_RESEARCH.stage("dr_ablation").calls_per_item(recipe) == sum(read.values())
    assert DEEP_RESEARCH.stage("dr_turns").calls_per_item(recipe) == len(made.turns.gate_records)


def test_longer_tasks_cost_more_and_every_stage_that_asks_has_a_line() -> None:
    short, long = (
        forecast_variant(DEEP_RESEARCH, small_recipe(lengths=lengths), None, TERMS).stages
        for lengths in ((4000,), (4000, 100_000))
    )
    assert [line.name for line in short] == ["dr_sources", "dr_questions", "dr_turns", "dr_ablation", "small"]
    assert short[-1].cost_usd is not None
    assert long[-1].cost_usd is not None
    assert long[-1].cost_usd.mid > 5 * short[-1].cost_usd.mid


def test_a_plan_for_real_documents_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    with pytest.raises(Problem, match="the stage 'dr_facts' cannot say how often it asks"):
        plan("dr-demo", ["source.kind=documents", "source.paths=[manuals]"])
