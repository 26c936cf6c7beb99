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
        return "\n".join(self._texts_of("system", "developer"))

    @property
    def user_texts(self) -> list[str]:
        return self._texts_of("user")

    def _texts_of(self, *roles: str) -> list[str]:
        return [turn.content for turn in self.turns if turn.role in roles]

    @property
    def request(self) -> str:
        """The user message with this call's data: the last that is no objection. Those before it are examples."""
        for text in reversed(self.user_texts):
            if not text.startswith(OBJECTION):
                return text
        return ""

    @cached_property
    def blocks(self) -> dict[str, str]:
        """The fenced data of the request, by tag."""
        return {match["tag"]: match["body"] for match in BLOCK.finditer(self.request)}

    @property
    def objection(self) -> str:
        """The reason why the last answer could not be used, or ""."""
        last = self.user_texts[-1] if self.user_texts else ""
        return last if last.startswith(OBJECTION) else ""

    def text(self, tag: str) -> str:
        """Return a block of text with its brackets restored; "" without the block."""
        return self.blocks.get(tag, "").replace("&lt;", "<").replace("&#91;", "[")

    def data(self, tag: str) -> Any:
        """Read a block of JSON. Raises ValueError when the block is missing or no JSON."""
        if tag not in self.blocks:
            raise ValueError(f"The prompt of {self.name!r} lacks its block <{tag}>.")
        return json.loads(self.blocks[tag])

    def optional_data(self, tag: str) -> dict[str, Any]:
        """Read a block with a JSON object; {} without the block, which prompts leave out when it would be empty."""
        return self.data(tag) if tag in self.blocks else {}

    def number(self, pattern: str, *, default: int) -> int:
        """Return the first number that the instructions, before or beside the fenced data, give at the pattern's group."""
        match = re.search(pattern, f"{self.system}\n{BLOCK.sub('', self.request)}")
        return int(match[1]) if match else default

    @cached_property
    def identity(self) -> str:
        """A hexadecimal digest over all that may decide the reply."""
        parts = [self.name, str(self.seed)]
        for turn in self.turns:
            parts.append(f"{turn.role}:{turn.content}")
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

    def rng(self, *path: object) -> SeededRandom:
        """Return a generator for one purpose; the same request draws the same."""
        return SeededRandom(self.identity, *path)


def recognise(messages: Sequence[Mapping[str, str]], *, schema_name: str | None, seed: int) -> PromptTask:
    """Recognise a prompt by the name of its JSON schema, else by the opening words of its instructions; else `PLAIN_CHAT`."""
    turns = tuple(PromptTurn(message["role"], message["content"]) for message in messages)
    name = _names_by_schema().get(schema_name or "") or _name_by_opening(turns)
    return PromptTask(name, turns, seed)


@cache
def _names_by_schema() -> dict[str, str]:
    return {name.replace("/", "_"): name for name in prompt_names()}


def _name_by_opening(turns: Sequence[PromptTurn]) -> str:
    for turn in turns:
        if turn.role == "system":
            for opening, name in prompt_openings().items():
                if turn.content.startswith(opening):
                    return name
            break  # the instructions are the first system message; later ones are data
    return PLAIN_CHAT


@cache
def prompt_openings() -> dict[str, str]:
    """Return the first words of every prompt's instructions, each with the prompt's name."""
    openings: dict[str, str] = {}
    for name in prompt_names():
        first_line = load_prompt(name).system.strip().partition("\n")[0]
        openings[first_line.partition("{")[0]] = name
    return openings
