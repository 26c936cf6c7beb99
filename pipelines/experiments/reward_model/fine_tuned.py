"""A language model that is fine-tuned to say in one word whether a recall kept what was needed.

It reads what was written nearest to the query, what was recalled, the budget and the query. Only low-rank additions to its
weights (LoRA) are trained and saved; on a GPU its own weights are held in four bits (QLoRA).
"""

import hashlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assets.records.base import Record
from pipelines.errors import EvaluationError
from pipelines.experiments.reward_model.floors import Numbers, RewardReport, groups_of, labels_of, report_rows
from pipelines.experiments.reward_model.rows import RewardRow
from prompts.fence import enclose_in_tags

FORM: Literal[3] = 3  # of the text that a model reads: raised when it changes
FILE = "reward.json"
YES = " yes"
NO = " no"
RANK = 16
ALPHA = 32
DROPOUT = 0.05
WARM_UP = 0.05  # share of the steps in which the rate rises
LONGEST_STEP = 1.0  # norm to which gradients are cut
Scorer = Callable[[Sequence[RewardRow]], Numbers]


class Tuning(Record):
    """How a language model is fine-tuned. `base`: a folder, or a name on the Hub; `window`: the most tokens of one row."""

    base: str
    steps: int = 300
    rate: float = 2e-4
    batch: int = 16
    window: int = 2048
    seed: int = 42


class FineTunedModel(Record):
    """What is saved beside the additions. `base_version`: the Hub's commit, or the digest of the folder's weights."""

    form: Literal[3] = FORM
    tuning: Tuning
    base_version: str
    rows_digest: str
    versions: dict[str, str]
    report: RewardReport


@dataclass(frozen=True)
class AnsweringModel:
    """A model with its tokenizer, and the tokens of both answers: no, then yes."""

    model: Any
    tokenizer: Any
    answers: tuple[int, int]
    version: str

    def answer_scores(self, texts: Sequence[str], *, window: int) -> Any:
        """Return the scores of "no" and "yes" after each text, a line of two for each; what is too long loses its front."""
        read = self.tokenizer(list(texts), return_tensors="pt", padding=True, truncation=True, max_length=window)
        inputs = {name: read[name].to(self.model.device) for name in ("input_ids", "attention_mask")}
        return self.model(**inputs, logits_to_keep=1).logits[:, -1, list(self.answers)].float()


def language_model_text(row: RewardRow) -> str:
    """Return what a language model reads of a row. Nothing in it names the memory, what was done to it, or the right answer."""
    question = enclose_in_tags(row.row.query, "question")
    written = _texts("written", row.nearest) or "Nothing that was written is near to the question."
    recalled = _texts("recalled", row.row.recalled) or "Nothing was recalled."
    return (
        f"{written}\n{recalled}\n{question}\n"
        f"The memory could give back {row.row.budget} tokens. Does what it recalled hold all that the question needs?\nAnswer:"
    )


def _texts(tag: str, texts: Sequence[str]) -> str:
    return "\n".join(enclose_in_tags(text, tag) for text in texts)


def measure_held_out(rows: Sequence[RewardRow], *, tuning: Tuning) -> RewardReport:
    """Fine-tune once without each memory and benchmark, and measure the scores of what was left out. Raises EvaluationError."""
    labels = labels_of(rows)
    held_out: dict[str, Numbers] = {}
    for name, groups in groups_of(rows).items():
        scores = np.full(len(rows), 0.5)
        for group in sorted(set(groups)):
            out = np.asarray([own == group for own in groups])
            if len(np.unique(labels[~out])) < 2:
                continue  # the others have one outcome alone, of which nothing can be learned
            known = [row for row, own in zip(rows, groups, strict=True) if own != group]
            unknown = [row for row, own in zip(rows, groups, strict=True) if own == group]
            scores[out] = _scores(fine_tune(known, tuning=tuning), tuning, unknown)
        held_out[name] = scores
    return report_rows(rows, held_out=held_out)


def fine_tune(rows: Sequence[RewardRow], *, tuning: Tuning) -> AnsweringModel:
    """Return the base model with additions that were trained on rows. The same rows, seed and machine give the same."""
    torch = _package("torch")
    torch.manual_seed(tuning.seed)
    tuned = _with_additions(_base(tuning.base))
    trainable = [weight for weight in tuned.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=tuning.rate)
    warm_up = max(1, round(WARM_UP * tuning.steps))
    schedule = _package("transformers").get_cosine_schedule_with_warmup(optimizer, warm_up, tuning.steps)
    texts = [language_model_text(row) for row in rows]
    labels = labels_of(rows)
    tuned.model.train()
    for batch in _batches(len(rows), tuning):
        scores = tuned.answer_scores([texts[int(place)] for place in batch], window=tuning.window)
        wanted = torch.tensor(labels[batch], device=scores.device, dtype=torch.long)
        torch.nn.functional.cross_entropy(scores, wanted).backward()
        torch.nn.utils.clip_grad_norm_(trainable, LONGEST_STEP)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return tuned


def save_fine_tuned(rows: Sequence[RewardRow], folder: Path, *, tuning: Tuning, report: RewardReport) -> FineTunedModel:
    """Fine-tune on all rows and write the folder. Raises EvaluationError, and OSError."""
    tuned = fine_tune(rows, tuning=tuning)
    texts = [f"{language_model_text(row)} {row.kept}" for row in rows]
    model = FineTunedModel(
        tuning=tuning,
        base_version=tuned.version,
        rows_digest=hashlib.sha256("\n".join(texts).encode()).hexdigest(),
        versions={name: version(name) for name in ("torch", "transformers", "peft")},
        report=report,
    )
    tuned.model.save_pretrained(folder, safe_serialization=True)
    (folder / FILE).write_text(model.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return model


def load_scorer(folder: Path) -> tuple[FineTunedModel, Scorer]:
    """Return a saved model, with what gives each row the chance that it kept what was needed. Raises EvaluationError."""
    try:
        model = FineTunedModel.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise EvaluationError(
            f"{folder} holds no fine-tuned model of this version ({type(error).__name__}); `amemgym reward train` writes one."
        ) from error
    base = _base(model.tuning.base)
    if base.version != model.base_version:
        raise EvaluationError(f"{model.tuning.base} is another version than {folder} was trained on; train it again.")
    loaded = _package("peft").PeftModel.from_pretrained(base.model, str(folder))
    tuned = AnsweringModel(loaded, base.tokenizer, base.answers, base.version)
    return model, lambda rows: _scores(tuned, model.tuning, rows)


def _scores(tuned: AnsweringModel, tuning: Tuning, rows: Sequence[RewardRow]) -> Numbers:
    torch = _package("torch")
    tuned.model.eval()
    found: list[float] = []
    with torch.no_grad():
        for start in range(0, len(rows), tuning.batch):
            texts = list(map(language_model_text, rows[start : start + tuning.batch]))
            found.extend(tuned.answer_scores(texts, window=tuning.window).softmax(dim=-1)[:, 1].tolist())
    return np.asarray(found, dtype=float)


def _base(name: str) -> AnsweringModel:
    torch = _package("torch")
    transformers = _package("transformers")
    settings: dict[str, Any] = {"dtype": torch.float32}
    if torch.cuda.is_available():
        _package("bitsandbytes")
        four_bits = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        settings = {"dtype": torch.bfloat16, "quantization_config": four_bits, "device_map": {"": 0}}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, padding_side="left", truncation_side="left")
        model = transformers.AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, **settings)
    except (OSError, ValueError) as error:
        raise EvaluationError(
            f"The base model {name} cannot be loaded ({type(error).__name__}); give a folder with config.json, a tokenizer and "
            "weights as safetensors, or the name of such a model on the Hugging Face Hub."
        ) from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    no, yes = (tokenizer(word, add_special_tokens=False)["input_ids"] for word in (NO, YES))
    if not no or not yes or no[0] == yes[0]:
        raise EvaluationError(f"The tokenizer of {name} does not tell {YES!r} from {NO!r} by their first tokens; take another.")
    return AnsweringModel(model, tokenizer, (no[0], yes[0]), _version(name, model.config))


def _version(name: str, config: Any) -> str:
    commit = getattr(config, "_commit_hash", None)
    if commit:
        return str(commit)
    weights = hashlib.sha256()
    for path in sorted(Path(name).glob("*.safetensors")):
        with path.open("rb") as file:
            weights.update(hashlib.file_digest(file, "sha256").digest())
    return weights.hexdigest()


def _with_additions(base: AnsweringModel) -> AnsweringModel:
    peft = _package("peft")
    model = peft.prepare_model_for_kbit_training(base.model) if base.model.device.type == "cuda" else base.model
    low_rank = peft.LoraConfig(
        task_type="CAUSAL_LM", r=RANK, lora_alpha=ALPHA, lora_dropout=DROPOUT, target_modules="all-linear"
    )
    return AnsweringModel(peft.get_peft_model(model, low_rank), base.tokenizer, base.answers, base.version)


def _batches(count: int, tuning: Tuning) -> Iterator[NDArray[np.int64]]:
    """Yield the places of the rows of each step; all rows come before any comes again."""
    chance = np.random.Generator(np.random.PCG64(tuning.seed))
    waiting = np.empty(0, dtype=np.int64)
    for _ in range(tuning.steps):
        while len(waiting) < tuning.batch:
            waiting = np.concatenate([waiting, chance.permutation(count)])
        yield waiting[: tuning.batch]
        waiting = waiting[tuning.batch :]


def _package(name: str) -> Any:
    """Return a package of the extra, which has types of its own, or none, and takes seconds to import."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise EvaluationError(
            f"{error.name} is missing, which a fine-tuned model needs; install it with: pip install -e '.[reward-llm]'"
        ) from error
