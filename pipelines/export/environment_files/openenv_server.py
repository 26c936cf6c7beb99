"""A release as an environment of OpenEnv: each observation is what is said next, until the question or request is met."""

import argparse
import random
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import Field

from .episodes import Episode, read_episodes

EPISODES = read_episodes(Path(__file__).parent)
NAME = "amemgym_memory"


class Reply(Action):
    """What the agent says."""

    message: str = Field(description="what the agent says; to a question one line ANSWER: ..., to a request an action")


class Said(Observation):
    """What is said next. `asks`: it is the question or request, or what came of an action; from here on replies count."""

    message: str = Field(default="", description="what is said; empty at the end")
    asks: bool = Field(default=False, description="whether the reply counts")


class MemoryEnvironment(Environment[Reply, Said, State]):
    """One question or request with all that comes before it. `reset(index=...)` chooses it, else the seed."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._episode: Episode = EPISODES[0]
        self._replies: list[str] = []
        self._state = State(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Said:
        index = options.get("index")
        if index is None:
            index = random.Random(seed).randrange(len(EPISODES))  # noqa: S311 - no secret hangs on it
        self._episode = EPISODES[int(index) % len(EPISODES)]
        self._replies = []
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return self._next_turn()

    def step(self, action: Reply, timeout_s: float | None = None, **options: Any) -> Said:
        self._state.step_count += 1
        if self._state.step_count <= len(self._episode.turns):
            return self._next_turn()
        self._replies.append(action.message)
        said = self._episode.respond(self._replies)
        if said is None:
            return Said(done=True, reward=self._episode.grade(self._replies))
        return Said(message=said, asks=True, reward=0.0)

    @property
    def state(self) -> State:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        description = f"{len(EPISODES)} questions or requests that need what was said or read many turns before"
        return EnvironmentMetadata(name=NAME, description=description)

    def list_splits(self) -> list[str]:
        return ["test"]

    def num_tasks(self, split: str) -> int:
        return len(EPISODES)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return {"id": EPISODES[index].name, "index": index}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [self.get_task(split, index) for index in range(len(EPISODES))]

    def _next_turn(self) -> Said:
        place = self._state.step_count
        asks = place == len(self._episode.turns)
        message = self._episode.opening if asks else self._episode.turns[place]
        return Said(message=message, asks=asks, reward=0.0)


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
