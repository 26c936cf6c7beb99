"""Questions in batch jobs: what nothing waits for goes there, a dialogue does not, and a run's files are the same."""

from pathlib import Path

import pytest

from dataset_card.amemgym.reference.data_json import data_json
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from pipelines.errors import EvaluationError
from pipelines.evaluation.command import EvaluationProgress, EvaluationRequest, run_evaluation
from pipelines.evaluation.options import EvaluationOptions
from pipelines.home import Home
from tests.evaluation.scripted_evaluation import HonestModel, episode, finish, run_of
from tests.pipelines.llm.batched import jobs_at
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.coroutines import run
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider


def answers_of(folder: Path, request: EvaluationRequest) -> bytes:
    """Run the evaluation in a data folder of its own; the bytes of its answers."""
    home = Home(folder)
    finished = run(run_evaluation(request, home=home, progress=EvaluationProgress()))
    return (home.root / "runs" / finished.manifest.run_id / "answers.parquet").read_bytes()


def test_questions_and_probes_go_in_batch_jobs_and_dialogues_do_not(tmp_path: Path) -> None:
    model = HonestModel()
    finish(run_of(tmp_path, model, batch=True))
    transports = {(request.labels.stage, request.labels.transport) for request in model.requests}
    assert transports == {
        ("evaluation dialogue", "live"),
        ("evaluation simulator", "live"),
        ("evaluation interview", "batch"),
        ("evaluation baselines", "batch"),
    }


def test_answers_from_batch_jobs_have_the_bytes_of_live_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data.json"
    data.write_bytes(data_json([episode("ada")]))
    options = EvaluationOptions(model=model_name())
    with on_a_port(Provider(embedded_app(), FaultProfile())) as url:
        monkeypatch.setenv("AMEMGYM_BASE_URL", url)
        live = answers_of(tmp_path / "live", EvaluationRequest(str(data), "bm25", options))
        assert jobs_at(url) == []
        batch = options.model_copy(update={"batch": True})
        batched = answers_of(tmp_path / "batch", EvaluationRequest(str(data), "bm25", batch))
        assert jobs_at(url) != []
    assert batched == live


def test_where_no_job_can_be_sent_the_option_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_bytes(data_json([episode("ada")]))
    with pytest.raises(EvaluationError, match="does not take batch jobs"):
        answers_of(tmp_path / "home", EvaluationRequest(str(data), "bm25", EvaluationOptions(batch=True)))
