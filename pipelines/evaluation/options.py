"""The options of an evaluation: what its user chose, and the models of the paper."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import yaml
from pydantic import Field, ValidationError

from assets.recipe.extra_body import ExtraBody
from assets.recipe.loading import StrictLoader
from assets.recipe.recipe import Budget
from assets.records.problems import first_problem, nearest_first
from pipelines.errors import EvaluationError
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.reasoning import CONTEXT_TOKENS
from pipelines.evaluation.records import RunSettings
from pipelines.memories.others.code_calls import DEADLINE
from pipelines.redaction import variable_told_by
from pipelines.resources.cache.reply_cache import CacheMode

EVERY_CHAT = "all"  # roles but that of embeddings, whose models take other fields
MOST_SETTLING = 3600  # seconds
# Those of section 4.1.
PAPER_MODELS = {
    "assistant": "gpt-4.1-mini",
    "memory": "gpt-4.1-mini",
    "embedding": "text-embedding-3-small",
    "user": "gpt-4.1",
    "judge": "gpt-4.1",
}


class EvaluationOptions(RunSettings):
    """All that the user of an evaluation may choose beside its dataset and its memory.

    The fields of `RunSettings` are part of the manifest and the id. Those here are not: the manifest says in its own words
    which models and users they lead to, and the others decide only how the run goes. Models that are "" are the paper's
    (section 4.1), or the embedded one without endpoint.
    """

    model: str = Field(default="", description="One model for every chat role that has no option of its own.")
    memory_model: str = Field(default="", description="Model for the memory's own work.")
    embedding_model: str = Field(default="", description="Model for the memory's embeddings.")
    user_model: str = Field(default="", description="Model that plays the user, and checks what it says.")
    judge_model: str = Field(default="", description="Model that checks what the user says; by default the user's model.")
    users: int | None = Field(
        default=None, ge=1, description="Number of users, or of tasks at all their lengths; by default all."
    )
    fresh: int = Field(
        default=0,
        ge=0,
        description="Score so many users too that nobody has seen, made by the release's recipe and models with a secret salt; "
        "with 6 or more here and in the release a memory that knows the release is off the board.",
    )
    replay: str = Field(
        default="",
        description="Off-policy: replay the dialogues of this run; on swe and webarena the first half of each of its episodes.",
    )
    again: bool = Field(default=False, description="Evaluate again, even if there is a finished run of this plan.")
    offline: bool = Field(default=False, description="Ask no model; use recorded replies only.")
    batch: bool = Field(
        default=False,
        description="Ask what nothing waits for in batch jobs, at half the price and within a day each: questions, probes and "
        "what is the same for every memory.",
    )
    concurrency: int = Field(default=32, ge=1, description="Users, or tasks, evaluated at the same time.")
    deadline: float = Field(
        default=DEADLINE, ge=1, description="Timeout in seconds of one call to a memory that is not built in."
    )
    in_process: bool = Field(
        default=False,
        description="Run a memory's own code in this process, for debugging. The code could read the answers, so the run is "
        "marked.",
    )
    max_cost: float | None = Field(
        default=None, description="US dollars that each run may spend, over all its starts; at the limit it pauses."
    )
    max_tokens: int | None = Field(
        default=None,
        description="Tokens that each run may spend, over all its starts; at the limit it pauses. Calls known to cost nothing "
        "count none.",
    )

    @property
    def cache_mode(self) -> CacheMode:
        return "replay" if self.offline else "use"

    @property
    def budget(self) -> Budget:
        """What a run may spend, over all its starts. Raises EvaluationError for a limit of zero."""
        return budget_of(max_cost_usd=self.max_cost, max_tokens=self.max_tokens)

    @property
    def replayed_run(self) -> str:
        """The id of the run that is replayed, once the data set is open."""
        return self.replay

    def check(self) -> None:
        """Raise EvaluationError for what cannot be asked."""
        if self.reply_tokens < 1:
            raise EvaluationError(f"A reply needs at least one token; {self.reply_tokens} cannot be given.")
        for name in self.conditions:
            if name not in CONDITIONS[1:]:
                known = nearest_first(name, CONDITIONS[1:])
                raise EvaluationError(f"There is no condition {name!r}; give one or several of {known}, or nothing.")
        if not 0 <= self.settle <= MOST_SETTLING:
            raise EvaluationError(f"settle: {self.settle:g} cannot be waited for; give seconds from 0 to {MOST_SETTLING}.")
        budgets = list(self.curve)
        if self.tokens:
            budgets.append(self.tokens)
        for tokens in budgets:
            if not 0 < tokens < CONTEXT_TOKENS:
                raise EvaluationError(
                    f"A budget of {tokens} tokens cannot be given; it must be from 1 to {CONTEXT_TOKENS - 1}."
                )

    @property
    def of_dialogues(self) -> Sequence[str]:
        """The options that were chosen and make sense for dialogues alone."""
        chosen = {
            "replay": bool(self.replay),
            "wording": self.wording != "own",
            "recall_query": self.recall_query != "question-and-options",
            "user_model": bool(self.user_model),
            "judge_model": bool(self.judge_model),
        }
        return [name for name, given in chosen.items() if given]

    def models(self, roles: Sequence[str], *, embedded: str | None) -> dict[str, str]:
        """Return the model of each of these roles: its own flag's, else `--model`, else the embedded one, or the paper's."""
        chosen = {
            "assistant": self.model,
            "memory": self.memory_model or self.model,
            "embedding": self.embedding_model,
            "user": self.user_model or self.model,
            "judge": self.judge_model or self.user_model or self.model,
        }
        return {role: chosen[role] or embedded or PAPER_MODELS[role] for role in roles}

    def extra_body_of(self, roles: Iterable[str]) -> dict[str, ExtraBody]:
        """Return the further fields by role, of those roles that have any; a role's own win. Raises EvaluationError."""
        found = dict[str, ExtraBody]()
        for role in roles:
            common = {} if role == "embedding" else self.extra_body.get(EVERY_CHAT, {})
            found[role] = {**common, **self.extra_body.get(role, {})}
        for role, fields in self.extra_body.items():
            if role not in (*found, EVERY_CHAT):
                known = nearest_first(role, [*found, EVERY_CHAT])
                raise EvaluationError(f"extra_body names the role {role!r}; the roles of this run are: {known}.")
            variable = variable_told_by(json.dumps(fields))
            if variable:
                raise EvaluationError(f"extra_body holds the secret in {variable}, which would stand in the run's files.")
        return {role: fields for role, fields in found.items() if fields}


def budget_of(*, max_cost_usd: float | None, max_tokens: int | None) -> Budget:
    """Return the limits of a run, None for none. Raises EvaluationError for one that is no number above 0."""
    for limit in (max_cost_usd, max_tokens):
        if limit is not None and not 0 < limit < math.inf:
            raise EvaluationError(f"A budget must be a finite number above 0, not {limit:g}; leave it out for no limit.")
    return Budget(max_cost_usd=max_cost_usd, max_tokens=max_tokens)


def read_options(fields: Mapping[str, object], *, source: str) -> EvaluationOptions:
    """Return the options that these fields are. `source`: where they stand. Raises EvaluationError, which repeats no value."""
    for name in fields:
        if name not in EvaluationOptions.model_fields:
            known = nearest_first(name, EvaluationOptions.model_fields)
            raise EvaluationError(f"{source} has {name!r}, which is no option of an evaluation; these are: {known}.")
    try:
        return EvaluationOptions.model_validate(dict(fields))
    except ValidationError as error:
        raise EvaluationError(f"{source}: {' '.join(first_problem(error))}.") from None


def read_run_file(path: Path) -> dict[str, object]:
    """Return the fields in the YAML file of a run. Raises EvaluationError."""
    try:
        content = yaml.load(path.read_bytes(), StrictLoader)  # noqa: S506 (a SafeLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise EvaluationError(f"{path} cannot be read ({reason}); it is YAML with options such as tokens: 4000.") from error
    if not isinstance(content, dict):
        raise EvaluationError(f"{path} is no mapping of options, such as tokens: 4000.")
    return cast(dict[str, object], content)
