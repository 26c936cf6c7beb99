"""The size of a run before its first call: one count of calls by purpose, and what they will read at most."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.llm.ports import BATCH_SHARE
from assets.llm.usage import Usage
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted
from assets.text.words import count_tokens
from pipelines.evaluation.records import OF_BASELINES, RunManifest
from pipelines.evaluation.timeline.context import BATCHED
from pipelines.evaluation.timeline.steps import Act, Ask, Converse, Forget, Timeline, Write
from pipelines.memories.registry import forgetting_calls, writing_calls
from pipelines.resources.ledger.budget import warn_of_small_budget
from pipelines.resources.ledger.prices import Prices

# Common lengths in tokens.
REPLY = 250
FOLLOW_UP = 40  # of a message of the simulated user
CHOICE = 8  # of an answer
ACTION = 150  # of an event in an episode
STATES = 40  # of an answer to a state probe
INSTRUCTIONS = 250
WORDS = {
    "dialogue": "replies",
    "memory": "memory writes",
    "simulator": "messages of the simulated user and checks of these",
    "interview": "questions and states",
    "baselines": "baselines and conditions of isolated scores",
}
# Whose price a purpose's calls have.
ROLES = {"dialogue": "assistant", "memory": "memory", "simulator": "user", "interview": "assistant", "baselines": "assistant"}


def calls_of(calls: float, *, reading: float, writing: float) -> Usage:
    """Return so many calls, of so many tokens each on the average."""
    return Usage(calls=round(calls), input_tokens=int(calls * reading), output_tokens=int(calls * writing))


@dataclass(frozen=True)
class ItemSize:
    """The questions and events of one item, whatever the benchmark. Lists hold the tokens that were perceived before each call.

    `written`: events, of `event_tokens` each, of which so many are `requests` to forget. `replies` of a dialogue, with
    `simulated` messages of the user, which are checked against `schema_tokens`. `questions` and state `probes`, of
    `question_tokens` and `probe_tokens` beside what is recalled. `bounds`: questions that are asked of the reasoner alone,
    `controls`: those of others. `steps`: checkpoints.
    """

    written: int
    event_tokens: float
    questions: Sequence[int]
    question_tokens: int
    steps: int
    requests: int = 0
    replies: Sequence[int] = ()
    simulated: int = 0
    schema_tokens: int = 0
    probes: Sequence[int] = ()
    probe_tokens: int = 0
    bounds: int = 0
    controls: int = 0

    def volumes(self, manifest: RunManifest) -> dict[str, Usage]:
        """Return the calls by purpose. A memory is taken to give back all that it may, so that tokens are an upper limit."""
        asked = 0 if manifest.is_alone else len(self.questions)
        conditions = () if manifest.alone and not manifest.is_alone else manifest.conditions
        task = INSTRUCTIONS + self.question_tokens
        probe = INSTRUCTIONS + self.probe_tokens
        interview = calls_of(len(self.probes), reading=_mean_recall(self.probes, manifest.tokens) + probe, writing=STATES)
        for budget in (manifest.tokens, *manifest.curve):
            interview += calls_of(asked, reading=_mean_recall(self.questions, budget) + task, writing=CHOICE)
        interview += calls_of(self.controls, reading=_mean_recall(self.questions[-1:], manifest.tokens) + task, writing=CHOICE)
        writes = writing_calls(manifest.memory.kind) * self.written
        writes += forgetting_calls(manifest.memory.kind) * self.requests
        replying = _mean_recall(self.replies, manifest.tokens) + INSTRUCTIONS
        # Each message of the simulated user is written, and then checked against the schema.
        simulating = INSTRUCTIONS + 2 * self.schema_tokens + REPLY
        baselines = calls_of(
            self.bounds + len(self.questions) * len(conditions) + asked * len(manifest.arms), reading=task, writing=CHOICE
        )
        if "everything" in conditions:
            baselines += Usage(input_tokens=sum(self.questions))
        return {
            "dialogue": calls_of(len(self.replies), reading=replying, writing=REPLY),
            "memory": calls_of(writes, reading=2 * (INSTRUCTIONS + self.event_tokens), writing=REPLY / 2),
            "simulator": calls_of(2 * self.simulated, reading=simulating, writing=FOLLOW_UP),
            "interview": interview,
            "baselines": baselines,
        }


def size_of(timeline: Timeline, manifest: RunManifest) -> ItemSize:
    """Return the size of what happens on one item."""
    perceived = 0  # tokens so far
    written = list[float]()  # tokens of each event
    questions = list[int]()
    question_tokens = [0]
    probes = list[int]()
    probe_tokens = [0]
    replies = list[int]()
    counts = Counter[str]()
    schema_tokens = 0
    for step in timeline.in_run(alone=manifest.is_alone).steps:
        if isinstance(step, Write):
            perceived += step.tokens
            written += [step.tokens / max(1, len(step.events))] * len(step.events)
        elif isinstance(step, Forget):
            counts["requests"] += 1
            perceived += count_tokens(step.request.text)
            written.append(count_tokens(step.request.text))
        elif isinstance(step, Converse):
            counts["simulated"] += step.simulated_messages
            schema_tokens = step.schema_tokens
            for tokens in step.exchanges:
                if step.is_live:
                    replies.append(perceived)
                perceived += tokens
                written += [REPLY, REPLY]
        elif isinstance(step, Act):
            counts["simulated"] += step.simulated_messages
            questions += [step.in_sight] * step.calls
            question_tokens.append(step.tokens)
            written += [ACTION] * step.calls
        elif isinstance(step, Ask):
            # One call may ask for all of these; how many it takes depends on what is recalled.
            together = [question for question in step.questions if question.shares_call]
            for question in step.questions:
                if question in together[1:]:
                    continue
                if question.kind == "question":
                    questions += [perceived] * question.calls
                    question_tokens.append(question.tokens)
                elif question.kind in OF_BASELINES:
                    counts["bounds"] += 1
                elif question.kind == "permuted":
                    counts["controls"] += 1
                else:
                    probes.append(perceived)
                    probe_tokens.append(question.tokens)
    return ItemSize(
        written=len(written),
        event_tokens=sum(written) / max(1, len(written)),
        questions=questions,
        question_tokens=max(question_tokens),
        steps=timeline.in_run(alone=manifest.is_alone).checkpoints * len(timeline.lives(manifest)),
        replies=replies,
        schema_tokens=schema_tokens,
        probes=probes,
        probe_tokens=max(probe_tokens),
        **counts,
    )


def _mean_recall(held: Sequence[int], budget: int) -> float:
    """Return the mean of what is recalled, of what was perceived before each call."""
    return sum(min(tokens, budget) for tokens in held) / max(1, len(held))


@dataclass(frozen=True)
class EvaluationForecast:
    """Calls without re-asks by purpose. `steps`: checkpoints to come. `usd`: None where a price is unknown.

    `rehearsed`: tokens are those of a rehearsal, else the most that they may be, as a memory may give back less.
    """

    sizes: Mapping[str, Usage]
    steps: int
    usd: float | None
    rehearsed: bool = False

    def __add__(self, other: "EvaluationForecast") -> "EvaluationForecast":
        sizes = {purpose: size + other.sizes[purpose] for purpose, size in self.sizes.items()}
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return EvaluationForecast(sizes, self.steps + other.steps, usd, self.rehearsed and other.rehearsed)

    @property
    def usage(self) -> Usage:
        """Chat completions of the run and their tokens; embeddings are not among them."""
        return sum(self.sizes.values(), Usage())

    @property
    def calls(self) -> int:
        return self.usage.calls

    @property
    def tokens(self) -> int:
        """Input and output tokens in all."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def sentence(self) -> str:
        parts = list[str]()
        for purpose, size in self.sizes.items():
            if size.calls:
                parts.append(f"{size.calls:,} {WORDS[purpose]}")
        most = "" if self.rehearsed else "at most "
        price = "at an unknown price" if self.usd is None else f"${self.usd:,.2f}"
        return (
            f"About {counted(self.calls, 'model call')} ({', '.join(parts)}), fewer where replies are cached; {most}about "
            f"{_millions(self.usage.input_tokens)} input and {_millions(self.usage.output_tokens)} output tokens, {price}."
        )

    def for_other_items(self, times: float) -> str:
        """Return the sentence on as many other items, as a multiple of these."""
        usage = self.usage
        tokens = f"{_millions(times * usage.input_tokens)} input and {_millions(times * usage.output_tokens)} output tokens"
        price = "at an unknown price" if self.usd is None else f"${times * self.usd:,.2f}"
        return f"To ask them takes about {times * usage.calls:,.0f} calls, at most about {tokens}, {price}."

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        return warn_of_small_budget(budget, tokens=self.tokens, usd=self.usd)


def forecast_run(
    timelines: Iterable[Timeline], manifest: RunManifest, *, prices: Prices, batch: bool = False
) -> EvaluationForecast:
    """Count what the run will ask. The calls of memories that are not ours are not counted."""
    sizes = dict.fromkeys(WORDS, Usage())
    steps = 0
    for timeline in timelines:
        item = size_of(timeline, manifest)
        steps += item.steps
        for purpose, volume in item.volumes(manifest).items():
            sizes[purpose] += volume
    return EvaluationForecast(sizes, steps, price_sizes(sizes, manifest, prices=prices, batch=batch))


def price_sizes(sizes: Mapping[str, Usage], manifest: RunManifest, *, prices: Prices, batch: bool) -> float | None:
    """Return the dollars of calls by purpose; None where one price is unknown. `batch`: as `EvaluationContext` has it."""
    total = 0.0
    for purpose, size in sizes.items():
        if not size.calls:
            continue
        usd = prices.of(manifest.models[ROLES[purpose]], size).usd
        if usd is None:
            return None
        total += usd * BATCH_SHARE if batch and purpose in BATCHED else usd
    return total


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} K"
