"""Tasks of tau2-bench for the runner: a dialogue whose older part leaves the window, and a memory that may bring it back.

Tasks that the package's own grader passes for doing nothing are left out and named, and so are those that its right calls fail.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import ask_structured
from assets.reporting.plurals import counted
from assets.text.words import count_tokens
from dataset_card.release.digests import canonical_digest
from pipelines.agents.actions import Action, read_action, read_episode, written_episode
from pipelines.agents.episode import EpisodeStep, run_episode, taken
from pipelines.agents.tau2_world import (
    DOMAINS,
    MOST_USER_CALLS,
    PACKAGE,
    READ_VERSION,
    Tau2Missing,
    Tau2Task,
    Tau2World,
    call_with_result,
    leaf_texts,
    tau2_tasks,
    tau2_version,
)
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.agent import Agent, RecallSource, acting_settings
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import KIND_OF, ROOM_FOR_TASK, EventRow, ReasonerWithMemory
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import CONTEXT_TOKENS, Answer, ReadableTask, ask
from pipelines.evaluation.records import AnswerRow, AnswersStep, AskKind, DialogueTurn, RunManifest
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run
from pipelines.evaluation.spending import StepUsage, memory_call
from pipelines.memories.contract import MemoryEvent, Task, best_within, cut_to_budget, newest_within
from pipelines.memories.hosting import HostedMemory
from prompts.catalogue import load_prompt
from prompts.template import Message

PREFIX = "tau2:"
CHAINED = "-chained"
# Of 287 tasks of that version, those whose grade says nothing of an agent; the extra's tests find them anew.
LEFT_OUT = json.loads(Path(__file__).with_name("tau2_left_out.json").read_text(encoding="utf-8"))
WINDOW = 2_000
BUDGET = 1_000
MOST_STEPS = 60
USUAL_STEPS = 15  # of an episode, for the forecast
PASSES = "passes"
AROUND = 120  # characters on each side of a needed value that belong to the fact
LEAST_LENGTH = 3
LONGEST = 60


def read_tau2_tasks(source: str) -> "Tau2Tasks":
    """Return the tasks of `tau2:DOMAIN` or `tau2:DOMAIN-chained`. Raises EvaluationError."""
    domain = source.removeprefix(PREFIX).removesuffix(CHAINED)
    if domain not in DOMAINS:
        raise EvaluationError(f"{source} is no domain of tau2; there are {', '.join(f'{PREFIX}{name}' for name in DOMAINS)}.")
    try:
        tasks = tau2_tasks(domain)
        found = tau2_version()
    except Tau2Missing as missing:
        raise EvaluationError(str(missing)) from missing
    if found != READ_VERSION:
        raise EvaluationError(
            f"{PACKAGE} {found} is installed, and {READ_VERSION} was checked task by task; install {PACKAGE}=={READ_VERSION}."
        )
    without_grade: Mapping[str, str] = LEFT_OUT[domain]
    chains: dict[str, list[Tau2Task]] = {}
    for task in tasks:
        if task.task_id not in without_grade:
            chains.setdefault(task.customer if source.endswith(CHAINED) else task.task_id, []).append(task)
    left_out: dict[str, list[str]] = {}
    for task_id, why in without_grade.items():
        left_out.setdefault(why, []).append(task_id)
    notices = [f"Left out of {len(tasks)} tasks, because they {why}: {', '.join(ids)}." for why, ids in left_out.items()]
    unread = sum(bool(task.asserted_in_words) for task in tasks)
    if unread:
        says = "also says" if unread == 1 else "also say"
        notices.append(
            f"{counted(unread, 'task')} {says} in words what should hold; tau2's reward does not read it, and nobody is asked."
        )
    info = DatasetInfo(
        benchmark="tau2",
        name=f"{source} {found}",
        digest=canonical_digest([source, found]),
        language="English",
        noun="customer" if source.endswith(CHAINED) else "task",
        users=tuple(chains),
        roles=("assistant", "memory", "embedding", "user"),
        prompts=("evaluation/remember", "evaluation/ask_again", "evaluation/act", "memories/"),
        tokens=BUDGET,
        notices=tuple(notices),
    )
    return Tau2Tasks(info, tuple(Chain(name, tuple(those)) for name, those in chains.items()))


@dataclass(frozen=True)
class Chain:
    """Tasks that one memory lives one after another: all of a customer's, or a single one."""

    name: str
    tasks: tuple[Tau2Task, ...]


@dataclass
class OutOfSight:
    """What an agent has lived and sees no longer, as events: of earlier episodes, and of this one."""

    earlier: list[MemoryEvent] = field(default_factory=list[MemoryEvent])
    messages: int = 0  # of this episode, that became events
    events: list[MemoryEvent] = field(default_factory=list[MemoryEvent])

    def add(self, gone: Sequence[Message]) -> list[MemoryEvent]:
        """Return the new events among messages that are gone. A call whose result is still in sight is no event yet."""
        new: list[MemoryEvent] = []
        while self.messages < len(gone):
            message = gone[self.messages]
            if message.role == "user":
                new.append(MemoryEvent(message.content, "user"))
                self.messages += 1
                continue
            if self.messages + 1 >= len(gone):
                break
            new += _events_of(message.content, gone[self.messages + 1].content)
            self.messages += 2
        self.events += new
        return new

    @property
    def any(self) -> bool:
        return bool(self.earlier or self.events)

    @property
    def lines(self) -> list[str]:
        return [event.line for event in (*self.earlier, *self.events)]


def _events_of(reply: str, seen: str) -> list[MemoryEvent]:
    """Return the events of one step: a call with its result, or what was said and answered."""
    try:
        action = read_action(reply)
    except ValueError:
        return []
    if action.action == "call" and action.tool:
        return [MemoryEvent(call_with_result(action.tool, action.given, seen), "tool", source=action.tool)]
    return [MemoryEvent(action.text or "", "assistant"), MemoryEvent(seen, "user")]


@dataclass
class MemorySource:
    """A memory that is written what leaves the window."""

    reasoner: ReasonerWithMemory
    memory: HostedMemory
    gone: OutOfSight
    tokens: int

    async def leave(self, gone: Sequence[Message]) -> None:
        new = self.gone.add(gone)
        if new:
            with memory_call("write"):
                await self.memory.write(new)

    @property
    def holds(self) -> bool:
        return self.gone.any

    async def recall(self, query: str) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=self.tokens)


@dataclass
class ConditionSource:
    """What stands in the memory's place: `facts`, `everything`, or a `placebo` of chance lines of the same dialogue."""

    kind: AskKind
    needed: Sequence[str]
    gone: OutOfSight
    tokens: int
    path: Sequence[object]

    @property
    def holds(self) -> bool:
        return self.gone.any

    async def leave(self, gone: Sequence[Message]) -> None:
        self.gone.add(gone)

    async def recall(self, query: str) -> Sequence[str]:
        lines = self.gone.lines
        if self.kind == "everything":
            return newest_within(lines, CONTEXT_TOKENS - ROOM_FOR_TASK)
        needed = [line for line in lines if any(value in line for value in self.needed)]
        if self.kind == "facts":
            facts = [_around(line, self.needed) for line in needed]
            return cut_to_budget(facts[::-1], self.tokens)[::-1]
        others = [line for line in lines if line not in needed]
        return best_within(SeededRandom(*self.path, len(lines)).shuffled(others), self.tokens)


def _around(line: str, values: Sequence[str]) -> str:
    """Return the beginning of a long line, and what stands around the needed values in it."""
    if len(line) <= 4 * AROUND:
        return line
    kept = [line[:AROUND]]
    for value in values:
        place = line.find(value, AROUND)
        if place >= 0:
            kept.append(line[max(0, place - AROUND) : place + len(value) + AROUND])
    return " ... ".join(kept)


@dataclass(frozen=True)
class Tau2Tasks:
    """The tasks of one domain, each alone or chained by customer."""

    info: DatasetInfo
    chains: tuple[Chain, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return self.info.users

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        return replace(self, info=info, chains=self.chains[: len(info.users)])

    def replaying(self, recorded: FinishedRun) -> Self:
        raise self.info.refused("--replay")

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        self.info.check_options(options, whole=whole, but="--user-model")
        return {
            "mode": "documents",
            "recall_at": options.recall_at or "step",
            "window": options.window or WINDOW,
            **acting_settings(options),
        }

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for chain in self.chains:
            steps = USUAL_STEPS * len(chain.tasks)
            yield ItemSize(
                written=steps,
                event_tokens=150,
                questions=[2 * manifest.window] * steps,
                question_tokens=4_000,
                steps=1,
                simulated=steps // 4,
            )

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        chain = self._chain(item_id)
        rows.add(await run.step(f"{item_id}/asked", AnswersStep, partial(self._asked, run, chain)))

    async def _asked(self, run: Run, chain: Chain) -> AnswersStep:
        """Live the chain with the memory, then in every other condition. Raises ItemStopped."""
        manifest = run.manifest
        rows: list[AnswerRow] = []
        host = run.host(chain.name)
        place = "the dialogue with the memory"
        try:
            for budget in (manifest.tokens, *manifest.curve):
                kind: AskKind = "question" if budget == manifest.tokens else "at_budget"
                memory = await host.new_memory()
                rows += await self._lived(run, chain, kind, budget=budget, memory=memory)
                await ReasonerWithMemory(run.reasoner("interview", item_id=chain.name), memory).count_stored()
            place = "the dialogue without the memory"
            for kind in self._others(manifest):
                rows += await self._lived(run, chain, kind, budget=manifest.tokens, memory=None)
        except ENDS_ITEM as error:
            raise ItemStopped(place, error) from error
        finally:
            await host.close()
        return AnswersStep(answers=tuple(rows), usage=StepUsage(lost_writes=host.lost_writes))

    def _others(self, manifest: RunManifest) -> list[AskKind]:
        kinds: list[AskKind] = [KIND_OF[condition] for condition in manifest.conditions]
        return [*kinds, "placebo"] if "placebo" in manifest.arms else kinds

    async def _lived(
        self, run: Run, chain: Chain, kind: AskKind, *, budget: int, memory: HostedMemory | None
    ) -> list[AnswerRow]:
        """Return a row for each task of the chain, lived with this memory, or with what the kind has in its place."""
        reasoner = run.bare(chain.name)
        if memory is not None:
            reasoner = ReasonerWithMemory(run.reasoner("interview", item_id=chain.name), memory)
        earlier: list[MemoryEvent] = []
        rows: list[AnswerRow] = []
        for place, task in enumerate(chain.tasks):
            gone = OutOfSight(list(earlier))
            source: RecallSource | None = None
            if memory is not None:
                source = MemorySource(reasoner, memory, gone, budget)
            elif kind != "no_memory":
                source = ConditionSource(kind, needed_values(task), gone, budget, (run.manifest.seed, task.task_id, kind))
            episode = ActedTask(run, task, gone, source, reasoner, budget)
            given = await ask(episode.readable, episode.act)
            left = gone.add(episode.all_messages)
            if memory is not None and left and place + 1 < len(chain.tasks):
                with memory_call("write"):
                    await memory.write(left)
            earlier += gone.events
            answer = replace(given, kind=kind, budget=budget if memory is not None else 0, recalled=tuple(episode.recalled))
            rows.append(self._row(chain, place, answer, asked=episode.opening, events=gone.events))
        return rows

    def _row(
        self, chain: Chain, place: int, given: Answer[str], *, asked: str, events: Sequence[MemoryEvent] = ()
    ) -> AnswerRow:
        task = chain.tasks[place]
        values = needed_values(task)
        recalled = "\n".join(given.recalled)
        found = sum(value in recalled for value in values)
        status = "unscored" if given.value is None else "right" if given.value == PASSES else "wrong"
        return AnswerRow(
            user_id=chain.name,
            period=place,
            item=task.task_id,
            expected=PASSES,
            given=given.value or "",
            status=status,
            options=0,
            shown=0,
            required=len(values),
            age=0,
            asked=asked,
            written=len(events),
            written_tokens=sum(count_tokens(event.text) for event in events),
            fact_recall=round(found / max(1, len(values)), 6),
            **given.columns,
        )

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        if answers:
            return []
        chain = self._chain(item_id)
        nothing = Answer[str](None, "", 0, reason)
        return [self._row(chain, place, nothing, asked="") for place in range(len(chain.tasks))]

    def controls(self, manifest: RunManifest, item_id: str) -> list[AnswerRow]:
        return []

    def graded(self, manifest: RunManifest, row: AnswerRow) -> AnswerRow:
        if not row.reply:
            return row
        given = graded_episode(self._chain(row.user_id).tasks[row.period], row.asked, read_episode(row.reply))
        return row.model_copy(update={"given": given, "status": "right" if given == PASSES else "wrong"})

    def events(self, turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
        """An agent leads each dialogue anew, so no events are the data's; the episodes are in the rows' replies."""
        return iter(())

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        items: list[PageItem] = []
        for chain in self.chains:
            questions: list[Json] = []
            periods: list[Json] = []
            for task in chain.tasks:
                questions.append({"id": task.task_id, "query": task.scenario, "required": [], "options": []})
                periods.append({"end": "", "state": {}, "sessions": []})
            items.append(PageItem(chain.name, chain.name, questions=questions, periods=periods))
        return items

    def _chain(self, name: str) -> Chain:
        return next(chain for chain in self.chains if chain.name == name)


@dataclass
class ActedTask:
    """One task, acted by the reasoner with one source; the user is a model too."""

    run: Run
    task: Tau2Task
    gone: OutOfSight
    source: RecallSource | None
    reasoner: ReasonerWithMemory
    tokens: int
    world: Tau2World = field(init=False)
    steps: list[EpisodeStep] = field(default_factory=list[EpisodeStep])
    recalled: dict[str, None] = field(default_factory=dict[str, None])

    def __post_init__(self) -> None:
        self.world = Tau2World(self.task)

    @property
    def opening(self) -> str:
        """The user's first words, alone."""
        return self.world.begun_with

    @property
    def readable(self) -> ReadableTask[str]:
        """Return what is asked: the episode as a whole, whose steps are graded by doing them again."""
        query = self.task.task_id
        return ReadableTask(Task(text=query, query=query), self._graded)

    def _graded(self, reply: str) -> str:
        return graded_episode(self.task, self.opening, read_episode(reply))

    async def act(self, task: Task) -> str:
        """Return all steps of the episode as text."""
        manifest = self.run.manifest
        self.world = Tau2World(self.task)
        opening = await self._user_reply()
        while opening.action != "say":  # nothing was asked yet, so that there is nothing to do or to end
            opening = Action(action="say", text=self.task.scenario)
        self.world.begin(opening.text or self.task.scenario)
        agent = Agent(
            self.reasoner.answer,
            self.world,
            self.world.rules,
            self.world.tools,
            self.opening,
            self.source,
            manifest.recall_at,
            self.tokens,
            manifest.native_tools,
            recalled=self.recalled,
        )
        if self.source is not None and manifest.recall_at == "start" and self.source.holds:
            agent.known = await self.source.recall(self.opening)
        steps = await run_episode(
            self.world,
            agent.ask,
            hear=self._heard,
            recall=agent.recall_as_tool if agent.recalls_by_tool else None,
            window=manifest.window,
            most_steps=MOST_STEPS,
        )
        self.steps = agent.noted(steps)
        return written_episode(self.steps)

    async def _heard(self, words: str) -> tuple[str, tuple[str, ...]]:
        self.world.say(words)
        replies: list[str] = []
        heard: str | None = None
        while heard is None and len(replies) < MOST_USER_CALLS:
            replies.append((await self._user_reply()).model_dump_json())
            heard = self.world.user_acts(replies[-1])
        return heard or "", tuple(replies)

    async def _user_reply(self) -> Action:
        prompt = load_prompt("evaluation/act_user").render(
            scenario=self.task.scenario, tools=self.world.user_tools, dialogue=self.world.transcript
        )
        model = self.run.model("simulator", item_id=self.task.task_id)
        return await ask_structured(model, prompt=prompt, reply=Action, convert=_said_or_done, settings=self.run.asking)

    @property
    def all_messages(self) -> list[Message]:
        """The whole episode as messages, the last answer to it included."""
        messages = [Message("user", self.world.opening)]
        for step in self.steps:
            messages += [Message("assistant", step.reply or "(nothing)"), Message("user", step.seen)]
        return messages


def _said_or_done(action: Action) -> Action:
    if action.action == "call" and not action.tool:
        raise ValueError('A call names its "tool".')
    if action.action == "say" and not (action.text or "").strip():
        raise ValueError('Give what you say as "text".')
    return action


def graded_episode(task: Tau2Task, opening: str, steps: Sequence[EpisodeStep]) -> str:
    """Return `PASSES`, or what failed, after doing the same in a new world."""
    world = Tau2World(task)
    world.begin(opening)
    for step in steps:
        taken(world, step.reply)
        for reply in step.user:
            world.user_acts(reply)
    if not steps or (steps[-1].did != "finished" and not world.ended):
        return "it did not end"
    failed = world.failed_by()
    return f"{failed} failed" if failed else PASSES


def needed_values(task: Tau2Task) -> list[str]:
    """Return the values of the right calls that a text would not hold by chance, each once."""
    values: dict[str, None] = {}
    for call in task.gold:
        for value in call.arguments.values():
            for text in leaf_texts(value):
                if LEAST_LENGTH <= len(text) <= LONGEST:
                    values[text] = None
    return list(values)
