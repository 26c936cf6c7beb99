"""Recordings of real models: the prompts as they were asked, the replies to them, and what these came to.

Each is of the recipe of its name in `recipes`, and of two memories where they are scored on its release. `make
record` asks for what they lack; `tests/pipelines/test_recorded.py` replays those that there are with no model at all, with the
recorded prompts in place of the shipped ones: a reply belongs to what was asked.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.resources.cache.reply_cache import key_at
from prompts.catalogue import load_shipped_prompt, prompt_names, prompt_path
from prompts.template import Prompt, parse_prompt

HERE = Path(__file__).parent
RECIPES = HERE / "recipes"
AROUND_TASKS = "evaluation/remember"  # the ledger names the task in it
MEMORIES = ("bm25?topk=5", "summary?freq=8")  # of dialogues the second lives through those of the first
# One round a session, so that no user is simulated.
ROUNDS = {"num_rounds_initial": "1", "num_rounds_update": "1"}
# Options by variant; a budget is a tenth of what is written, or a session where that is more.
SCORED = {
    "strong": {"questions": "12", "baselines": "false", **ROUNDS},
    "strong-facts": {"tokens": "600"},
    "strong-tools": {"tokens": "500"},
}
# Whoever answers has written nothing of what it reads.
MODELS = {"model": "judge-large", "memory_model": "writer-large"}


@dataclass(frozen=True)
class Recording:
    """What a model said to the prompts of one variant, which may not have been recorded yet."""

    variant: str

    @property
    def folder(self) -> Path:
        return HERE / self.variant

    @property
    def replies(self) -> Path:
        return self.folder / "replies.jsonl"

    @property
    def outcome(self) -> Path:
        return self.folder / "outcome.json"

    @property
    def exists(self) -> bool:
        return self.replies.exists() and self.outcome.exists()

    def prompts(self) -> list[Prompt]:
        """The prompts that the recorded model was asked with."""
        paths = sorted((self.folder / "prompts").glob("*/*.md"))
        return [parse_prompt(self._name_of(path), path.read_text(encoding="utf-8")) for path in paths]

    def _name_of(self, path: Path) -> str:
        return path.relative_to(self.folder / "prompts").with_suffix("").as_posix()

    def reworded(self) -> list[str]:
        """The recorded prompts whose words are others by now: what a model makes of the new ones nobody has recorded."""
        return [prompt.name for prompt in self.prompts() if prompt.fingerprint != load_shipped_prompt(prompt.name).fingerprint]

    def keep_asked(self, place: Path) -> None:
        """Keep the replies that this data folder asked for, and the prompts of all its calls in place of earlier ones."""
        with sqlite3.connect(place / "ledger.sqlite") as ledger:
            requests = {str(key) for (key,) in ledger.execute("SELECT DISTINCT request FROM calls")}
            asked = {str(name) for (name,) in ledger.execute("SELECT DISTINCT prompt FROM calls")}
        # What was imported and not asked for belongs to other words.
        kept_lines = list[str]()
        for line in self.replies.read_text(encoding="utf-8").splitlines(keepends=True):
            reply = json.loads(line)
            if reply["key"] in {key_at(reply["place"], key) for key in requests}:
                kept_lines.append(line)
        self.replies.write_text("".join(kept_lines), encoding="utf-8")
        # Embeddings have no template; an evaluation asks by the name of a schema.
        names = [name for name in prompt_names() if asked & {name, name.replace("/", "_")}]
        if self._runs(place):
            names.append(AROUND_TASKS)
        shutil.rmtree(self.folder / "prompts", ignore_errors=True)
        for name in names:
            kept = self.folder / "prompts" / f"{name}.md"
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(prompt_path(name), kept)

    def commands(self, place: Path, *, replay: bool) -> Iterator[list[str]]:
        """What is asked of `amemgym`, in order: to make the variant and, where it finished, look at it and score memories."""
        offline = ["--offline"] if replay else []
        if self.exists:
            yield ["cache", "import", str(self.replies)]
        yield ["generate", self.variant, *offline]
        release = self._release(place)
        if release:
            yield ["verify", str(release)]
            if self.variant in SCORED:
                yield from self._evaluations(place, release, replay=replay)
        if not replay:
            self.folder.mkdir(exist_ok=True)
            yield ["cache", "export", str(self.replies)]

    def _evaluations(self, place: Path, release: Path, *, replay: bool) -> Iterator[list[str]]:
        """Score each memory, and check each run."""
        dialogues = release / self.variant / "data.json"
        data = dialogues if dialogues.exists() else release
        options = {**MODELS, **SCORED[self.variant], "offline": str(replay).lower()}
        for memory in MEMORIES:
            chosen = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
            yield ["evaluate", str(data), "--memory", memory, *chosen]
            run = self._runs(place, memory)[-1]
            yield ["verify", str(run), "--data", str(data)]
            if dialogues.exists():
                options["replay"] = run.name

    def _runs(self, place: Path, memory: str = "") -> list[Path]:
        """The runs of the memory, or of all memories, the newest last."""
        kind = memory.partition("?")[0]
        found = (place / "runs").glob(f"*-{kind}-*/results.json" if kind else "*-*/results.json")
        return [path.parent for path in sorted(found, key=lambda path: path.stat().st_mtime)]

    def outcome_of(self, place: Path) -> dict[str, Any]:
        """What the replies came to: who was replaced, and the rows of each stage by digest."""
        # Imported when the recipes' folder is set, which is read once.
        from assets.engine.provenance import ReportValue
        from dataset_card.release.manifest import read_manifest
        from pipelines.home import Home
        from pipelines.resources.storage.io_manager import open_asset_values

        (report,) = (place / "values").glob(f"*quality_report/{self.variant}.json")
        value = open_asset_values(Home(place)).find(report.parent.name, self.variant)
        assert isinstance(value, ReportValue)
        stages = value.provenance.snapshots[self.variant]
        made: dict[str, Any] = {
            "reworded": self.reworded(),
            "finished": value.report.finished,
            "replaced": value.report.replaced,
            "calls": {name: ref.usage.calls for name, ref in stages.items()},
            "rows": {name: ref.digest[:16] for name, ref in stages.items()},
        }
        release = self._release(place)
        if release is None:
            return made
        manifest = read_manifest(release)
        made |= {"version": release.name, "data_digest": manifest.data_digest, "counts": dict(manifest.counts)}
        if self.variant in SCORED:
            made["evaluations"] = {memory: self._scores_of(place, memory) for memory in MEMORIES}
        return made

    def _scores_of(self, place: Path, memory: str) -> dict[str, Any]:
        """What a memory came to, and the rows of its run by digest: its id holds the place that answered."""
        from dataset_card.release.digests import canonical_digest
        from pipelines.evaluation.folder import read_run

        run = read_run(self._runs(place, memory)[-1].name, runs=place / "runs")
        scores = run.results.model_dump(mode="json", include={"users", "metrics", "isolated", "control", "counts", "errors"})
        rows = [row.model_dump(mode="json") for row in (*run.answers, *run.turns)]
        calls = {purpose: usage.calls for purpose, usage in run.results.spending.items()}
        return {**scores, "calls": calls, "rows": canonical_digest(rows)[:16]}

    def _release(self, place: Path) -> Path | None:
        """The release; none where the model finished no user."""
        return next(iter((place / "releases" / self.variant).glob("*.*.*")), None)


def recordings() -> list[Recording]:
    """All that may be recorded, one for each recipe."""
    return [Recording(path.stem) for path in sorted(RECIPES.glob("*.yaml"))]
