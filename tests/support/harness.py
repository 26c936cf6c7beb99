"""The Agent Memory Benchmark as tests meet it: a clone that AMB_CHECKOUT names, else the stand-in beside this file."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

STAND_IN = Path(__file__).with_name("memory_bench")
BM25 = "provider+memory_bench.memory.bm25:BM25MemoryProvider"


def import_path() -> Path:
    """The folder that holds the package."""
    clone = os.environ.get("AMB_CHECKOUT")
    return Path(clone) / "src" if clone else STAND_IN


def put_on_path(patch: pytest.MonkeyPatch) -> None:
    """Let `memory_bench` be imported. Its runner is never asked to judge, but wants a judge's key."""
    patch.setattr(sys, "path", [str(import_path()), *sys.path])
    patch.setenv("OMB_JUDGE_LLM", "openai")
    patch.setenv("OPENAI_API_KEY", "never-used")


def forget() -> None:
    """Let the next test import it anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "memory_bench"]:
        del sys.modules[name]


@dataclass
class LetterMode:
    """A way to answer of the harness that knows the letter for each question; `seen`: the prompts that a model would get.

    `needed`: by question, documents without which it answers z.
    """

    letters: Mapping[str, str]
    needed: Mapping[str, set[str]] = field(default_factory=dict[str, set[str]])
    seen: list[str] = field(default_factory=list[str])
    name: str = "letter"
    llm_id: str = "none"

    async def async_answer(
        self, query: str, memory: Any, task_type: str = "open", user_id: Any = None, meta: Any = None
    ) -> Any:
        found, _ = await memory.async_retrieve(meta["retrieval_query"], k=30, user_id=user_id)
        context = "\n\n".join(one.content for one in found)
        self.seen.append(meta["_prompt_fn"](query, context, meta))
        is_there = self.needed.get(query, set()) <= {one.id for one in found}
        answer = import_module("memory_bench.models").AnswerResult
        return answer(self.letters[query] if is_there else "z", "", context, 0.0)
