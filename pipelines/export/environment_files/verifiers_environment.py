"""A release as an environment of verifiers: it plays the user turn by turn, asks or requests, and rewards what is right."""

from collections.abc import Iterator
from pathlib import Path

import verifiers.v1 as vf

from .episodes import Episode, read_episodes

__all__ = ["MemoryEnv", "MemoryTaskset"]
REPLIES = "replies"


class MemoryData(vf.TaskData):
    """An episode; the environment says all of it, so that there is no prompt."""

    episode: Episode


class EpisodeTask(vf.Task[MemoryData]):
    """A question or a request after all that was said or read before it."""

    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        """Return 1 for the right answer, or the right end."""
        return self.data.episode.grade(trace.info.get(REPLIES, []))


class MemoryTaskset(vf.Taskset[EpisodeTask, vf.TasksetConfig]):
    """All questions or requests of the release."""

    def load(self) -> Iterator[EpisodeTask]:
        for episode in read_episodes(Path(__file__).parent):
            yield EpisodeTask(MemoryData(id=episode.name, name=episode.name, episode=episode), self.config.task)


class MemoryEnvConfig(vf.EnvConfig):
    """`player`: the agent that listens and answers; a harness that compacts is a memory."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class MemoryEnv(vf.Env[MemoryEnvConfig]):
    """The simulated user's side: a message for each turn, then the question or request, and what comes of each reply."""

    async def run(self, task: EpisodeTask, agents: vf.Agents) -> None:
        episode = task.data.episode
        async with agents.player.interaction(task) as interaction:
            for turn in episode.turns:
                segment = await interaction.turn(turn)
                if segment.terminated:
                    return
            replies: list[str] = []
            interaction.trace.info[REPLIES] = replies
            said: str | None = episode.opening
            while said is not None:
                segment = await interaction.turn(said)
                if segment.terminated:
                    return
                replies.append(segment.last_reply)
                said = episode.respond(replies)
