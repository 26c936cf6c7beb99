"""What decides a run's results is in its manifest, and so in its id."""

from typing import Any

import pytest

from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.options import PAPER_MODELS, EvaluationOptions
from pipelines.evaluation.plan import manifest_of
from pipelines.evaluation.records import MemorySpec, RunManifest
from pipelines.evaluation.report.formatting import beside_the_paper
from tests.evaluation.scripted_evaluation import FULL, MODELS, tasks

PAPER = EvaluationOptions(wording="paper").models(tuple(PAPER_MODELS), embedded=None)


def manifest(spec: MemorySpec = FULL, *, models: dict[str, str] = MODELS, **options: Any) -> RunManifest:
    return manifest_of(tasks(), spec, EvaluationOptions(**options), models=models)


def test_whatever_decides_the_results_tells_runs_apart() -> None:
    plans = [
        manifest(),
        manifest(models={**MODELS, "memory": "other"}),
        manifest(MemorySpec(name="full-history", kind="full-history", settings={"model": "m"})),
        manifest(seed=7),
        manifest(tokens=500),
        manifest(curve=(500,)),
        manifest(conditions=()),
        manifest(probes="all"),
        manifest(wording="paper"),
        manifest_of(tasks(), FULL, EvaluationOptions(), models=MODELS, places=("http://one.example/v1",)),
        manifest_of(tasks(), FULL, EvaluationOptions(), models=MODELS, places=("http://two.example/v1",)),
    ]

    assert len({plan.run_id for plan in plans}) == len(plans)
    assert manifest().run_id == plans[0].run_id


def test_one_model_plays_every_role_of_a_chat_that_no_other_flag_names() -> None:
    named = EvaluationOptions(model="m", memory_model="n").models(tuple(PAPER_MODELS), embedded="embedded")

    assert named == {"assistant": "m", "memory": "n", "embedding": "embedded", "user": "m", "judge": "m"}
    assert EvaluationOptions(user_model="u").models(tuple(PAPER_MODELS), embedded=None)["judge"] == "u"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"conditions": ("all",)}, "no condition 'all'"), ({"tokens": 0}, "0 tokens"), ({"curve": (10**6,)}, "1000000 tokens")],
)
def test_what_cannot_be_asked_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EvaluationError, match=sentence):
        manifest(**options)


def test_only_scores_in_the_papers_form_and_with_its_models_may_stand_beside_its_tables() -> None:
    assert "may stand beside" in beside_the_paper(manifest(wording="paper", models=PAPER))
    assert "other models play" in beside_the_paper(manifest(wording="paper"))
    assert "paper's form" in beside_the_paper(manifest(models=PAPER))
    assert "the dialogues are another's" in beside_the_paper(manifest(wording="paper", models=PAPER, replayed_run="x"))


def test_the_papers_wording_reaches_the_notes_of_awi() -> None:
    awi = MemorySpec(name="awi", kind="awi")

    assert manifest(awi, wording="paper").memory.settings == {"wording": "paper"}
    assert manifest(awi).memory.settings == {}
