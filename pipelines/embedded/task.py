"""A chat request read as a prompt: the prompt's name, its fenced data, the last objection, and a seeded generator."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from assets.engine.seeded_random import SeededRandom
from prompts.catalogue import load_prompt, prompt_names

PLAIN_CHAT = "chat"
OBJECTION = "That answer cannot be used."
CANNOT_TELL = "cannot_tell"  # the option by which a prompt allows for an undecided text
BLOCK = re.compile(r"<(?P<tag>[a-z_]+)>\n(?P<body>.*?)\n</(?P=tag)>", re.DOTALL)


@dataclass(frozen=True)
class PromptTurn:
    role: str
    content: str


@dataclass(frozen=True)
class PromptTask:
    """One request. `seed` is what the client sent; it distinguishes samples of equal messages."""

    name: str
    turns: tuple[PromptTurn, ...]
    seed: int

    @property
    def system(self) -> str:
        return "\n".join(turn.content for turn in self.turns if turn.role in ("system", "developer"))

    @property
    def user_texts(self) -> list[str]:
        return [turn.content for turn in self.turns if turn.role == "user"]

    @property
    def request(self) -> str:
        """The user message with this call's data: the last that is no objection. Those before it are examples."""
        return next((text for text in reversed(self.user_texts) if not text.startswith(OBJECTION)), "")

    @cached_property
    def blocks(self) -> dict[str, str]:
        """The fenced data of the request, by tag."""
        return {match["tag"]: match["body"] for match in BLOCK.finditer(self.request)}

    @property
    def objection(self) -> str:
        """Why the last answer could not be used, or ""."""
        last = self.user_texts[-1] if self.user_texts else ""
        return last if last.startswith(OBJECTION) else ""

    def text(self, tag: str) -> str:
        """A block of text with its brackets restored; "" without the block."""
        return self.blocks.get(tag, "").replace("&lt;", "<")

    def data(self, tag: str) -> Any:
        """A block of JSON. Raises ValueError when the block is missing or no JSON."""
        if tag not in self.blocks:
            raise ValueError(f"The prompt of {self.name!r} lacks its block <{tag}>.")
        return json.loads(self.blocks[tag])

    def number(self, pattern: str, *, default: int) -> int:
        """The first number that the instructions, before or beside the fenced data, give at the pattern's group."""
        match = re.search(pattern, f"{self.system}\n{BLOCK.sub('', self.request)}")
        return int(match[1]) if match else default

    @cached_property
    def identity(self) -> str:
        """A hexadecimal digest over all that may decide the reply."""
        parts = [self.name, str(self.seed), *(f"{turn.role}:{turn.content}" for turn in self.turns)]
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

    def rng(self, *path: object) -> SeededRandom:
        """A generator for one purpose; the same request draws the same."""
        return SeededRandom(self.identity, *path)


def recognise(messages: Sequence[Mapping[str, str]], *, schema_name: str | None, seed: int) -> PromptTask:
    """Recognise a prompt by the name of its JSON schema, else by the opening words of its instructions; else `PLAIN_CHAT`."""
    turns = tuple(PromptTurn(message["role"], message["content"]) for message in messages)
    names = {name.replace("/", "_"): name for name in prompt_names()}
    name = names.get(schema_name or "")
    if name is None:
        system = next((turn.content for turn in turns if turn.role == "system"), "")
        name = next((prompt for opening, prompt in prompt_openings().items() if system.startswith(opening)), PLAIN_CHAT)
    return PromptTask(name, turns, seed)


@cache
def prompt_openings() -> dict[str, str]:
    """The first words of every prompt's instructions, each with the prompt's name."""
    return {load_prompt(name).system.strip().partition("{")[0].partition("\n")[0]: name for name in prompt_names()}
