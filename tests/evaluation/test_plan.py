"""What decides a run's results is in its manifest, and so in its id."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import read_run
from pipelines.evaluation.options import PAPER_MODELS, EvaluationOptions, read_options
from pipelines.evaluation.plan import manifest_of
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import beside_the_paper
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import FULL, MODELS, HonestModel, finish, run_of, tasks

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
        manifest(probes="none"),
        manifest(wording="paper"),
        manifest_of(
            tasks(), FULL, EvaluationOptions(), models=MODELS, places=dict.fromkeys(MODELS.values(), "http://one.example/v1")
        ),
        manifest_of(
            tasks(), FULL, EvaluationOptions(), models=MODELS, places=dict.fromkeys(MODELS.values(), "http://two.example/v1")
        ),
    ]

    assert len({plan.run_id for plan in plans}) == len(plans)
    assert manifest().run_id == plans[0].run_id


def test_one_model_plays_every_role_of_a_chat_that_no_other_flag_names() -> None:
    named = EvaluationOptions(model="m", memory_model="n").models(tuple(PAPER_MODELS), embedded="embedded")

    assert named == {"assistant": "m", "memory": "n", "embedding": "embedded", "user": "m", "judge": "m"}
    assert EvaluationOptions(user_model="u").models(tuple(PAPER_MODELS), embedded=None)["judge"] == "u"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"conditions": ("all",)}, "no condition 'all'"),
        ({"tokens": 10**6}, "1000000 tokens"),
        ({"curve": (10**6,)}, "1000000 tokens"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EvaluationError, match=sentence):
        manifest(**options)


def test_only_scores_in_the_papers_form_and_with_its_models_may_stand_beside_its_tables() -> None:
    assert "may stand beside" in beside_the_paper(manifest(wording="paper", probes="question", models=PAPER))
    assert "other models play" in beside_the_paper(manifest(wording="paper"))
    assert "paper's form" in beside_the_paper(manifest(models=PAPER))
    assert "the dialogues are another's" in beside_the_paper(manifest(wording="paper", models=PAPER, replay="x"))


def test_the_papers_wording_reaches_the_notes_of_awi() -> None:
    awi = MemorySpec(name="awi", kind="awi")

    assert manifest(awi, wording="paper").memory.settings == {"wording": "paper"}
    assert manifest(awi).memory.settings == {}


def test_a_model_that_is_a_local_file_is_named_without_its_folders(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(), data=tasks("ada"), conditions=(), baselines=False)
    models = {**MODELS, "assistant": "/home/quokka/models/llama.gguf"}
    finish(replace(work, manifest=work.manifest.model_copy(update={"models": models})))
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert b"quokka" not in written
    assert read_run(work.manifest.run_id, runs=tmp_path).manifest.models["assistant"] == "llama.gguf"


def test_further_fields_of_requests_are_part_of_a_run_by_role() -> None:
    plain = manifest()
    plan = manifest(
        extra_body={"all": {"top_k": 20}, "judge": {"thinking": {"type": "disabled"}}, "embedding": {"dimensions": 64}}
    )
    assert plan.run_id != plain.run_id
    assert plan.extra_body == {
        "assistant": {"top_k": 20},
        "memory": {"top_k": 20},
        "embedding": {"dimensions": 64},
        "user": {"top_k": 20},
        "judge": {"thinking": {"type": "disabled"}, "top_k": 20},
    }
    assert plan.model_of("judge") == 'test-judge with {"thinking": {"type": "disabled"}, "top_k": 20}'


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"top_k": {"a": 20}}, "names the role 'top_k'"),
        ({"judge": 20}, "extra_body.judge has to be a group of fields"),
        ({"all": {"model": "m"}}, "may not hold 'model'"),
        ({"all": {"api_key": "sk-proj-Zq7Lm2Xv9Rt4"}}, "holds a secret at 'api_key'"),
    ],
)
def test_further_fields_that_cannot_be_sent_are_one_sentence(fields: dict[str, object], words: str) -> None:
    with pytest.raises(EvaluationError, match=words) as refused:
        read_options({"extra_body": fields}, source="--set").extra_body_of(MODELS)
    assert "Zq7Lm2Xv" not in str(refused.value)


def test_a_secret_of_the_environment_is_no_further_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALRUS_API_KEY", "w4lrus-w4lrus-w4lrus")
    with pytest.raises(EvaluationError, match="holds the secret in WALRUS_API_KEY") as refused:
        manifest(extra_body={"all": {"user": "w4lrus-w4lrus-w4lrus"}})
    assert "w4lrus" not in str(refused.value)


def test_each_roles_requests_have_its_fields(tmp_path: Path) -> None:
    model = HonestModel()
    finish(run_of(tmp_path, model, extra_body={"all": {"top_k": 20}, "user": {"top_k": 5}}))
    sent = {(request.model, request.extra_body["top_k"]) for request in model.requests}
    assert sent == {("test-model", 20), ("test-user", 5), ("test-judge", 20)}


def test_the_room_of_a_reply_is_part_of_a_run_and_goes_out_with_every_request(tmp_path: Path) -> None:
    assert manifest(reply_tokens=20_000).run_id != manifest().run_id
    with pytest.raises(EvaluationError, match="at least one token"):
        EvaluationOptions(reply_tokens=0).check()
    model = HonestModel()
    finish(run_of(tmp_path, model, reply_tokens=20_000))
    assert {request.max_output_tokens for request in model.requests} == {20_000}
