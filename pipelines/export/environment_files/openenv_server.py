"""A release's questions as an environment of OpenEnv: each observation is what the user says next, the last one asks."""

import argparse
import random
from typing import Any
from uuid import uuid4

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import Field

from .episodes import MemoryEpisode, read_episodes

EPISODES = read_episodes()
NAME = "amemgym_memory"


class Reply(Action):
    """What the agent says."""

    message: str = Field(description="what the agent says; to the question, with a last line ANSWER: ...")


class Said(Observation):
    """What the user says. `asks`: it is the question, whose reply is rewarded."""

    message: str = Field(default="", description="what the user says; empty at the end")
    asks: bool = Field(default=False, description="whether this is the question")


class MemoryEnvironment(Environment[Reply, Said, State]):
    """One question with all that comes before it. `reset(index=...)` chooses it, else the seed."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._episode: MemoryEpisode = EPISODES[0]
        self._state = State(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Said:
        index = options.get("index")
        if index is None:
            index = random.Random(seed).randrange(len(EPISODES))  # noqa: S311 - no secret hangs on it
        self._episode = EPISODES[int(index) % len(EPISODES)]
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return self._next_message()

    def step(self, action: Reply, timeout_s: float | None = None, **options: Any) -> Said:
        asked = self._state.step_count >= len(self._episode.turns)
        self._state.step_count += 1
        if asked:
            return Said(done=True, reward=self._episode.grade(action.message))
        return self._next_message()

    @property
    def state(self) -> State:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        description = f"{len(EPISODES)} questions about what was said or read many turns before"
        return EnvironmentMetadata(name=NAME, description=description)

    def list_splits(self) -> list[str]:
        return ["test"]

    def num_tasks(self, split: str) -> int:
        return len(EPISODES)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return {"id": EPISODES[index].name, "index": index}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [self.get_task(split, index) for index in range(len(EPISODES))]

    def _next_message(self) -> Said:
        place = self._state.step_count
        return Said(message=self._episode.messages[place], asks=place == len(self._episode.turns), reward=0.0)


app = create_app(MemoryEnvironment, Reply, Said, env_name=NAME, max_concurrent_envs=64)


def main() -> None:
    """Serve the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    uvicorn.run(app, host=given.host, port=given.port)


if __name__ == "__main__":
    main()
