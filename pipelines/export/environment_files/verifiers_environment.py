"""A release's questions as an environment of verifiers: it plays the user turn by turn, asks, and rewards the right answer."""

from collections.abc import Iterator

import verifiers.v1 as vf

from .episodes import MemoryEpisode, read_episodes

__all__ = ["MemoryEnv", "MemoryTaskset"]


class MemoryData(vf.TaskData):
    """An episode; the environment says all of it, so that there is no prompt."""

    turns: list[str]
    question: str
    right: str
    chosen: bool

    def episode(self) -> MemoryEpisode:
        return MemoryEpisode(self.name or "", tuple(self.turns), self.question, self.right, self.chosen)


class QuestionTask(vf.Task[MemoryData]):
    """A question after all that was said or read before it."""

    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        """Return 1 for the right answer."""
        return self.data.episode().grade(trace.last_reply)


class MemoryTaskset(vf.Taskset[QuestionTask, vf.TasksetConfig]):
    """All questions of the release."""

    def load(self) -> Iterator[QuestionTask]:
        for episode in read_episodes():
            data = MemoryData(
                id=episode.name,
                name=episode.name,
                turns=list(episode.turns),
                question=episode.question,
                right=episode.right,
                chosen=episode.chosen,
            )
            yield QuestionTask(data, self.config.task)


class MemoryEnvConfig(vf.EnvConfig):
    """`player`: the agent that listens and answers; a harness that compacts is a memory."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class MemoryEnv(vf.Env[MemoryEnvConfig]):
    """The simulated user's side: a message for each turn, then the question."""

    async def run(self, task: QuestionTask, agents: vf.Agents) -> None:
        async with agents.player.interaction(task) as interaction:
            for message in task.data.episode().messages:
                segment = await interaction.turn(message)
                if segment.terminated:
                    break
