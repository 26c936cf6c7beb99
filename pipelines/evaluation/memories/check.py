"""Holds a memory to the contract in seconds: copies, questions that leave no trace, other sessions, types, deadlines.

A canary is a statement with a word that nobody else would say. Where the memory itself does not recall it, nothing follows.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime

from assets.llm.ports import EndpointError
from assets.records.base import ItemFailed
from pipelines.evaluation.contract import MemoryEvent, MemoryTools
from pipelines.evaluation.hosting import DEADLINE, HostedMemory, MemoryFailed
from pipelines.evaluation.memories.registry import host_memory
from pipelines.evaluation.records import MemorySpec

AT = datetime(2020, 10, 1, 9, 30)
EARLIER, LATER, ASKED = "quillamber", "zephyrmoss", "brindlefork"
BUDGET = 2000


@dataclass(frozen=True)
class ContractVerdict:
    """One thing that the contract asks. `broken`: it does not hold, and the sentence says what to do.

    A sentence about one that holds is a warning: the runner mends it, or it could not be tried.
    """

    what: str
    broken: bool
    sentence: str

    @property
    def word(self) -> str:
        """What the terminal says of it."""
        return "broken" if self.broken else "warns" if self.sentence else "holds"


async def check_memory(spec: MemorySpec, tools: MemoryTools, *, deadline: float = DEADLINE) -> list[ContractVerdict]:
    """The verdicts, up to the first that is broken. Raises EvaluationError for a memory that cannot be found."""
    found: list[ContractVerdict] = []
    host = host_memory(spec, tools, deadline=deadline)
    try:
        async for verdict in _verdicts(await host.new_memory(), name=spec.name):
            found.append(verdict)
            if verdict.broken:
                break
    except MemoryFailed as failed:
        found.append(ContractVerdict("its methods do what the contract says", True, str(failed)))
    except (EndpointError, ItemFailed) as error:
        found.append(ContractVerdict("its models answer", True, f"The check could not ask a model: {error}"))
    finally:
        host.close()
    return found


QUERY = "What do you know of my boat, and what is it called?"


async def _recalls(memory: HostedMemory, word: str) -> bool:
    return word in " ".join(await memory.recall(QUERY, tokens=BUDGET)).lower()


async def _verdicts(memory: HostedMemory, *, name: str) -> AsyncGenerator[ContractVerdict]:
    await _tell(memory, EARLIER)
    other = await memory.host.new_memory()
    yield _verdict(
        "a new memory knows nothing of others",
        await _recalls(other, EARLIER),
        name,
        "a new memory recalls what another one was told; give each its own state.",
    )
    known = await _recalls(memory, EARLIER)
    copy = await memory.fork()
    yield _verdict(
        "a fork knows what was written before it",
        known and not await _recalls(copy, EARLIER),
        name,
        "its fork has forgotten what was written before; copy everything.",
    )
    await _tell(memory, LATER)
    yield _verdict(
        "a fork sees nothing of what is written later",
        await _recalls(copy, LATER),
        name,
        "its fork sees what was written later: answers would know the future. Copy the state, or leave `fork` out.",
    )
    before = await memory.recall(QUERY, tokens=BUDGET)
    await memory.recall(f"Remember this question: is the boat called {ASKED}, yes {ASKED}?", tokens=BUDGET)
    yield _verdict(
        "recalling changes nothing",
        before != await memory.recall(QUERY, tokens=BUDGET),
        name,
        "recalling changes what it recalls; `recall` must leave the memory as it is, and draw nothing at random.",
    )
    await memory.recall(QUERY, tokens=5)
    over = f"{name!r} gives back more than its budget; the rest is cut off." if memory.host.cut_recalls else ""
    yield ContractVerdict("what it recalls fits the budget", False, over)
    if not known:
        problem = f"{name!r} did not recall what it had been told, so that what its copies see could not be tried."
        yield ContractVerdict("what was written can be recalled", False, problem)


async def _tell(memory: HostedMemory, word: str) -> None:
    """Two exchanges: a memory that keeps the last messages apart has to store the first."""
    said = f"My new boat is called {word}, and {word} is my favourite word of all."
    for text in (said, "The weather was fine today, nothing else."):
        await memory.write([MemoryEvent(text, "user", AT), MemoryEvent("That is good to know.", "assistant", AT)])


def _verdict(what: str, broken: bool, name: str, problem: str) -> ContractVerdict:
    return ContractVerdict(what, broken, f"Memory {name!r} breaks the contract: {problem}" if broken else "")
