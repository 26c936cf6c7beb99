"""A language model is fine-tuned end to end: a tiny one with weights by chance, on rows that one recalled word decides."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from numpy.typing import NDArray
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import EvaluationError
from pipelines.experiments.reward_model.fine_tuned import (
    FineTunedModel,
    Tuning,
    fine_tune,
    language_model_text,
    load_scorer,
    measure_held_out,
    save_fine_tuned,
)
from pipelines.experiments.reward_model.floors import MODEL, auroc, labels_of
from pipelines.experiments.reward_model.rows import RewardRow
from tests.experiments.reward_model.test_floors import made_rows
from tests.experiments.reward_model.test_rows import row, run_folder

torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)  # on a busy machine more of them wait for each other
# peft asks transformers by a name that the latter has given up.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")


def told_rows() -> list[RewardRow]:
    """Rows whose floors tell nothing: what was recalled says `beta` where the answer was right, and `delta` elsewhere."""
    found: list[RewardRow] = []
    for made in made_rows(spelled=False):
        recalled = made.row.model_copy(update={"recalled": ("beta" if made.kept else "delta",)})
        found.append(made.model_copy(update={"row": recalled}))
    return found


ROWS = told_rows()


class Tuned(NamedTuple):
    folder: Path
    tuning: Tuning
    model: FineTunedModel


def tiny_model(folder: Path, *, seed: int) -> Path:
    """A model of two layers with weights by chance, and a tokenizer of the words in the rows, as the Hub's folders are."""
    words = sorted({word for one in ROWS for word in language_model_text(one).split()} | {"yes", "no"})
    known = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *words])}
    split = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="[UNK]"))
    split.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=split, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=len(known),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
    )
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    folder = tmp_path_factory.mktemp("fine-tuned")
    base = tiny_model(folder / "base", seed=1)
    tuning = Tuning(base=str(base), steps=60, rate=1e-2, batch=8, window=64, seed=3)
    report = measure_held_out(ROWS, tuning=tuning)
    return Tuned(folder, tuning, save_fine_tuned(ROWS, folder / "model", tuning=tuning, report=report))


def test_it_tells_on_memories_and_benchmarks_that_it_never_saw_what_no_floor_tells(tuned: Tuned) -> None:
    report = tuned.model.report
    assert [(split.name, split.groups, split.areas[MODEL].value) for split in report.splits] == [
        ("a new memory", 4, 1.0),
        ("a new benchmark", 2, 1.0),
    ]
    assert report.verdict.startswith("On a new memory the model tells more than any floor")
    assert [order.taus[MODEL] for order in report.orders] == [1.0, 1.0]


def test_what_is_saved_scores_as_it_was_trained_and_holds_no_pickle(tuned: Tuned) -> None:
    model, scorer = load_scorer(tuned.folder / "model")
    assert model == tuned.model
    assert set(model.versions) == {"torch", "transformers", "peft"}
    assert auroc(scorer(ROWS), labels_of(ROWS), np.ones(len(ROWS))) == 1.0
    kinds = {path.suffix for path in (tuned.folder / "model").iterdir()}
    assert kinds == {".json", ".safetensors", ".md"}


def test_the_same_rows_and_seed_give_the_same_additions(tuned: Tuned) -> None:
    def additions() -> dict[str, NDArray[Any]]:
        model = fine_tune(ROWS, tuning=tuned.tuning.model_copy(update={"steps": 5})).model
        return {name: weight.detach().numpy() for name, weight in model.named_parameters() if weight.requires_grad}

    first, second = additions(), additions()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_names_of_memories_and_faults_reach_no_score(tuned: Tuned) -> None:
    _, scorer = load_scorer(tuned.folder / "model")
    renamed = [one.model_copy(update={"memory": "no", "perturbed": "half", "benchmark": "yes"}) for one in ROWS]
    assert np.array_equal(scorer(renamed), scorer(ROWS))


def test_a_base_of_other_weights_is_refused(tuned: Tuned) -> None:
    base = Path(tuned.tuning.base)
    kept = (base / "model.safetensors").read_bytes()
    tiny_model(base, seed=2)
    with pytest.raises(EvaluationError, match="is another version than"):
        load_scorer(tuned.folder / "model")
    (base / "model.safetensors").write_bytes(kept)


def test_a_base_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="cannot be loaded"):
        fine_tune(ROWS, tuning=Tuning(base=str(tmp_path)))


def test_the_command_writes_a_folder_and_scores_runs_by_it(tmp_path: Path, tuned: Tuned) -> None:
    told = [row(number, right=number % 2 == 0, recalled=("alpha gamma", "alpha beta")[number % 2]) for number in range(40)]
    runs = [str(run_folder(tmp_path, name, told)) for name in ("one", "two")]
    out = str(tmp_path / "model")
    train_command = ["reward", "train", *runs, "--out", out, "--base-model", tuned.tuning.base, "--steps", "2"]
    trained = CliRunner().invoke(app, train_command, catch_exceptions=False)
    assert trained.exit_code == 0
    assert "80 rows with a label" in trained.output
    scored = CliRunner().invoke(app, ["reward", "score", out, *runs, "--json"], catch_exceptions=False)
    assert scored.exit_code == 0
    records = json.loads(scored.stdout)
    assert [(record["memory"], record["true"], record["fact_recall"]) for record in records] == [
        ("one", 0.5, None),
        ("two", 0.5, None),
    ]
    assert all(0 < record["predicted"] < 1 for record in records)
