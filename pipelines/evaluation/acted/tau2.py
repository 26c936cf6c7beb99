"""Tasks of tau2-bench for the runner: dialogues with a user whom a model plays.

Tasks that the package's own grader passes for doing nothing are left out and named, and so are those that its right calls fail.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.llm.actions import Action
from assets.llm.structured_output import ask_structured
from assets.reporting.plurals import counted
from assets.worlds.steps import EpisodeStep, take_step
from dataset_card.release.digests import canonical_digest
from pipelines.agents.tau2_world import (
    DOMAINS,
    MOST_USER_CALLS,
    PACKAGE,
    READ_VERSION,
    Tau2Missing,
    Tau2Task,
    Tau2World,
    leaf_texts,
    tau2_tasks,
    tau2_version,
)
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.world_tasks import PASSES, PROMPTS, BegunEpisode, Chain, WorldTasks
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.context import EvaluationContext
from prompts.catalogue import load_prompt

PREFIX = "tau2:"
CHAINED = "-chained"
# Of 287 tasks of that version, those whose grade says nothing of an agent; the extra's tests find them anew.
LEFT_OUT = json.loads(Path(__file__).with_name("tau2_left_out.json").read_text(encoding="utf-8"))
WINDOW = 2_000
BUDGET = 1_000
LEAST_LENGTH = 3
LONGEST = 60


def read_tau2_tasks(source: str) -> WorldTasks:
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
        prompts=PROMPTS,
        tokens=BUDGET,
        notices=tuple(notices),
    )
    found_chains: list[Chain] = []
    for name, those in chains.items():
        found_chains.append(Chain(name, tuple(map(DialogueTask, those))))
    return WorldTasks(info, tuple(found_chains), WINDOW, allowed_option="user_model")


@dataclass(frozen=True)
class DialogueTask:
    """A task of tau2, whose user is a model with its scenario."""

    task: Tau2Task

    @property
    def task_id(self) -> str:
        return self.task.task_id

    @property
    def scenario(self) -> str:
        return self.task.scenario

    @property
    def needed_values(self) -> list[str]:
        """The values of the right calls that a text would not hold by chance, each once."""
        values: dict[str, None] = {}
        for call in self.task.gold:
            for value in call.arguments.values():
                for text in leaf_texts(value):
                    if LEAST_LENGTH <= len(text) <= LONGEST:
                        values[text] = None
        return list(values)

    async def begin(self, context: EvaluationContext) -> BegunEpisode:
        """Return the world with the user's first words."""
        dialogue = Tau2User(context, Tau2World(self.task))
        opening = await dialogue.reply()
        while opening.action != "say":  # nothing was asked yet, so that there is nothing to do or to end
            opening = Action(action="say", text=self.scenario)
        words = opening.text or self.scenario
        dialogue.world.begin(words)
        return BegunEpisode(dialogue.world, words, hear=dialogue.hear)

    def grade_steps(self, asked: str, steps: Sequence[EpisodeStep]) -> str:
        """Do the same in a new world, and ask its graders."""
        world = Tau2World(self.task)
        world.begin(asked)
        for step in steps:
            take_step(world, step.reply)
            for reply in step.user:
                world.user_acts(reply)
        if not steps or (steps[-1].did != "finished" and not world.ended):
            return "it did not end"
        failed = world.failed_by
        return f"{failed} failed" if failed else PASSES


@dataclass(frozen=True)
class Tau2User:
    """The user of a dialogue, whom a model plays."""

    context: EvaluationContext
    world: Tau2World

    async def hear(self, words: str) -> tuple[str, tuple[str, ...]]:
        """Let the agent say something, and return what the user says then, with all replies of the model."""
        self.world.say(words)
        replies: list[str] = []
        heard: str | None = None
        while heard is None and len(replies) < MOST_USER_CALLS:
            replies.append((await self.reply()).model_dump_json())
            heard = self.world.user_acts(replies[-1])
        return heard or "", tuple(replies)

    async def reply(self) -> Action:
        """Return the next action of the user."""
        task = self.world.task
        prompt = load_prompt("evaluation/act_user").render(
            scenario=task.scenario, tools=self.world.user_tools, dialogue=self.world.transcript
        )
        model = self.context.model("simulator", item_id=task.task_id)
        return await ask_structured(model, prompt=prompt, reply=Action, convert=_said_or_done, settings=self.context.asking)


def _said_or_done(action: Action) -> Action:
    if action.action == "call" and not action.tool:
        raise ValueError('A call names its "tool".')
    if action.action == "say" and not (action.text or "").strip():
        raise ValueError('Give what you say as "text".')
    return action
