"""The choices of an evaluation's user, and those of the paper."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from assets.recipe.extra_body import ExtraBody
from assets.recipe.loading import nearest_first
from assets.records.json_text import JsonError, parse_json
from pipelines.errors import EvaluationError
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.reasoning import CONTEXT_TOKENS
from pipelines.evaluation.records import Probes, RecallAt
from pipelines.memories.contract import MAX_REPLY_TOKENS, RecallQuery, Wording
from pipelines.redaction import variable_told_by

EXTRA_BODY: TypeAdapter[ExtraBody] = TypeAdapter(ExtraBody)
EXTRA_BODY_EXAMPLE = """give it as in --extra-body '{"chat_template_kwargs": {"enable_thinking": false}}'"""
MOST_SETTLING = 3600  # seconds
# Those of section 4.1.
PAPER_MODELS = {
    "assistant": "gpt-4.1-mini",
    "memory": "gpt-4.1-mini",
    "embedding": "text-embedding-3-small",
    "user": "gpt-4.1",
    "judge": "gpt-4.1",
}


@dataclass(frozen=True)
class EvaluationOptions:
    """The choices of the user. `model` plays every role of a chat that no other field names.

    Models that are "" are the paper's (section 4.1), or the embedded one without endpoint. `extra_body`: further fields of
    their requests, each text as JSON for all chat models or ROLE=JSON for one. `tokens`: what a memory may give back for one
    question, None for the benchmark's own; `curve`: further budgets to ask at. `reply_tokens`: those of a reply, the model's
    thoughts included. `conditions`: those of isolated scores beside the memory's own; `arms`: the controls too. `attempt`
    tells repetitions apart. The others are of dialogues alone. `replayed_run`: id of the run whose dialogues are replayed
    (off-policy), "" for on-policy.
    `wording`: our questions, or the paper's form and order of options. `recall_query`: what the memory is asked with.
    `recall_at`: when it is asked in an episode, and `window`: tokens of an episode in sight; None for the benchmark's own.
    `native_tools`: an agent acts by tool calls of its model's API.
    `settle`: seconds that writes of a memory of others take until they can be recalled. `in_process`: its code runs in our own
    process, for debugging.
    """

    model: str = ""
    memory_model: str = ""
    embedding_model: str = ""
    user_model: str = ""
    judge_model: str = ""
    extra_body: tuple[str, ...] = ()
    tokens: int | None = None
    reply_tokens: int = MAX_REPLY_TOKENS
    curve: tuple[int, ...] = ()
    conditions: tuple[str, ...] = CONDITIONS[1:]
    arms: bool = False
    seed: int = 42
    attempt: int = 0
    probes: Probes = "question"
    baselines: bool = True
    replayed_run: str = ""
    wording: Wording = "own"
    settle: float = 0.0
    recall_query: RecallQuery = "question-and-options"
    recall_at: RecallAt | None = None
    window: int | None = None
    native_tools: bool = False
    in_process: bool = False

    def check(self) -> None:
        """Raise EvaluationError for what cannot be asked."""
        if self.reply_tokens < 1:
            raise EvaluationError(f"A reply needs at least one token; {self.reply_tokens} cannot be given.")
        for name in self.conditions:
            if name not in CONDITIONS[1:]:
                known = nearest_first(name, CONDITIONS[1:])
                raise EvaluationError(f"There is no condition {name!r}; give one or several of {known}, or nothing.")
        if not 0 <= self.settle <= MOST_SETTLING:
            raise EvaluationError(f"--settle {self.settle:g} cannot be waited for; give seconds from 0 to {MOST_SETTLING}.")
        budgets = list(self.curve)
        if self.tokens is not None:
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
            "--replay": bool(self.replayed_run),
            "--wording": self.wording != "own",
            "--recall-query": self.recall_query != "question-and-options",
            "--user-model": bool(self.user_model),
            "--judge-model": bool(self.judge_model),
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
        """Return the further fields by role, of those roles that have any; later ones win. Raises EvaluationError."""
        found: dict[str, ExtraBody] = {role: {} for role in roles}
        for text in self.extra_body:
            role, equals, content = ("", "", text) if text.lstrip().startswith("{") else text.partition("=")
            if role.strip() not in found and equals:
                known = nearest_first(role, found)
                raise EvaluationError(f"--extra-body names the role {role!r}; the roles of this run are: {known}.")
            fields = _extra_body(content)
            variable = variable_told_by(content)
            if variable:
                raise EvaluationError(f"--extra-body holds the secret in {variable}, which would stand in the run's files.")
            # A model of embeddings takes other fields than one of chats.
            named = [role.strip()] if equals else [name for name in found if name != "embedding"]
            for name in named:
                found[name] = {**found[name], **fields}
        return {name: fields for name, fields in found.items() if fields}


def _extra_body(text: str) -> ExtraBody:
    """The fields of this text. Raises EvaluationError, which does not repeat a secret."""
    try:
        return EXTRA_BODY.validate_python(parse_json(text))
    except JsonError as error:
        raise EvaluationError(f"--extra-body is no JSON object ({error}); {EXTRA_BODY_EXAMPLE}.") from None
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        words = problem["msg"].removeprefix("Value error, ")
    if problem["type"] != "value_error":
        raise EvaluationError(f"--extra-body is no JSON object of plain values; {EXTRA_BODY_EXAMPLE}.")
    raise EvaluationError(f"--extra-body {words}")
