"""What the user of an evaluation may choose, and the paper's choices."""

from collections.abc import Sequence
from dataclasses import dataclass

from assets.recipe.loading import nearest_first
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.reasoning import CONTEXT_TOKENS
from pipelines.evaluation.records import Probes, Wording

PAPER_MODELS = {
    "assistant": "gpt-4.1-mini",
    "memory": "gpt-4.1-mini",
    "embedding": "text-embedding-3-small",
    "user": "gpt-4.1",
    "judge": "gpt-4.1",
}


@dataclass(frozen=True)
class EvaluationOptions:
    """What the user may choose. `model` plays every role of a chat that no other field names.

    Models that are "" are the paper's (section 4.1), or the embedded one without endpoint. `tokens`: what a memory may give
    back for one question, None for the benchmark's own; `curve`: further budgets to ask at. `conditions`: those of isolated
    scores beside the memory's own. `attempt` tells repetitions apart. The others are of dialogues alone: `unknown_probe`:
    probe states a second time with "don't know" allowed. `replayed_run`: id of the run whose dialogues are replayed
    (off-policy), "" for on-policy. `wording`: our questions, or the paper's form and order of options.
    """

    model: str = ""
    memory_model: str = ""
    embedding_model: str = ""
    user_model: str = ""
    judge_model: str = ""
    tokens: int | None = None
    curve: tuple[int, ...] = ()
    conditions: tuple[str, ...] = CONDITIONS[1:]
    seed: int = 42
    attempt: int = 0
    probes: Probes = "question"
    unknown_probe: bool = False
    baselines: bool = True
    replayed_run: str = ""
    wording: Wording = "own"

    def check(self) -> None:
        """Raises EvaluationError for what cannot be asked."""
        if wrong := [name for name in self.conditions if name not in CONDITIONS[1:]]:
            known = nearest_first(wrong[0], CONDITIONS[1:])
            raise EvaluationError(f"There is no condition {wrong[0]!r}; give one or several of {known}, or nothing.")
        given = [*self.curve, *([] if self.tokens is None else [self.tokens])]
        if too_many := [tokens for tokens in given if not 0 < tokens < CONTEXT_TOKENS]:
            raise EvaluationError(
                f"A budget of {too_many[0]} tokens cannot be given; it must be from 1 to {CONTEXT_TOKENS - 1}."
            )

    @property
    def of_dialogues(self) -> Sequence[str]:
        """The options that were chosen and make sense for dialogues alone."""
        chosen = {
            "--replay": bool(self.replayed_run),
            "--probes": self.probes != "question",
            "--unknown-probes": self.unknown_probe,
            "--wording": self.wording != "own",
            "--user-model": bool(self.user_model),
            "--judge-model": bool(self.judge_model),
        }
        return [name for name, given in chosen.items() if given]

    def models(self, roles: Sequence[str], *, embedded: str | None) -> dict[str, str]:
        """The model of each of these roles: its own flag's, else `--model`, else the embedded one, or the paper's."""
        chosen = {
            "assistant": self.model,
            "memory": self.memory_model or self.model,
            "embedding": self.embedding_model,
            "user": self.user_model or self.model,
            "judge": self.judge_model or self.user_model or self.model,
        }
        return {role: chosen[role] or embedded or PAPER_MODELS[role] for role in roles}
