"""Holds a memory to the contract in seconds: copies, questions that leave no trace, other sessions, types, deadlines.

A canary is a statement with a word that nobody else would say. Where the memory itself does not recall it, nothing follows.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assets.llm.ports import EndpointError
from assets.records.base import ItemFailed
from pipelines.memories.contract import MemoryEvent, MemorySpec
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.canary import BOAT_QUERY, boat_named
from pipelines.memories.hosting.confinement import CONFINED, Confinement, host_memory, links_not_shown
from pipelines.memories.hosting.hosted import HostedMemory
from pipelines.memories.others.code_calls import DEADLINE
from pipelines.memories.others.process import MemoryProcesses
from pipelines.memories.tools import MemoryTools

AT = datetime(2020, 10, 1, 9, 30)
# Words that nobody else would say.
EARLIER = "quillamber"
LATER = "zephyrmoss"
ASKED = "brindlefork"
# Has more words of the query than what it replaces, so that a sorting by likeness puts it first.
RENAMED = f"As you know, my boat is now called {LATER}, and {LATER} is my favourite word of all."
FORGET_BOAT = "Please forget my boat, and whatever I said of it."
NO_FORGET = "It has no `forget` that takes this request, and is told it like any other message."
ORDINARY = "The weather was fine."
BUDGET = 100_000  # nothing is cut off of what a memory gives back whole
# Memories that store what has left a short-term memory, or every so many events, share nothing before.
EVENTS = 200
EVERY = 10  # exchanges
LAG_SECONDS = 8.0  # for which it is tried whether a write comes back later
MOST_NAMED = 5  # links in a sentence
RECALLED = "what was written can be recalled"


@dataclass(frozen=True)
class ContractVerdict:
    """One thing that the contract asks. `broken`: it does not hold, and the sentence says what to do.

    A sentence about one that holds is a warning. `untried`: why nobody can say whether it holds.
    """

    what: str
    broken: bool
    sentence: str
    untried: str = ""

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        if self.broken:
            return "broken"
        if self.untried:
            return "not tried"
        return "warns" if self.sentence else "holds"


async def check_memory(
    spec: MemorySpec,
    tools: MemoryTools,
    *,
    deadline: float = DEADLINE,
    settle: float = 0.0,
    confinement: Confinement = CONFINED,
) -> list[ContractVerdict]:
    """The verdicts, up to the first that is broken.

    Raises EvaluationError for a memory that cannot be found, or that recalls nothing after the seconds of `settle`.
    """
    found: list[ContractVerdict] = []
    host = host_memory(spec, tools, confinement=confinement, deadline=deadline, settle=settle)
    links = links_not_shown(spec, confinement=confinement)
    if links:
        more = f" and {len(links) - MOST_NAMED:,} more" if len(links) > MOST_NAMED else ""
        problem = (
            f"{spec.name!r} is not shown what links in its folder lead to elsewhere: {', '.join(links[:MOST_NAMED])}{more}."
        )
        found.append(ContractVerdict("its folder holds what it reads", False, problem))
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
        await host.close()
    return found


async def _recalls(memory: HostedMemory, word: str) -> bool:
    return word in " ".join(await memory.recall(BOAT_QUERY, tokens=BUDGET)).lower()


async def _verdicts(memory: HostedMemory, *, name: str) -> AsyncGenerator[ContractVerdict]:
    before = await memory.host.new_memory()
    await _tell(memory, boat_named(EARLIER))
    await memory.settle()
    known = await _recalls(memory, EARLIER)
    unknown = "" if known else "It did not recall what it had been told itself."
    after = await memory.host.new_memory()
    for other in (before, after):  # a service may know nobody before the first write
        await other.write([MemoryEvent(ORDINARY, "user", AT)])
    apart = ""
    if isinstance(memory.host.place, MemoryProcesses) and memory.host.place.is_shared:
        apart = ", or set apart=true, which gives each a process and a home folder of its own"
    yield _verdict(
        "a new memory knows nothing of others",
        await _recalls(before, EARLIER) or await _recalls(after, EARLIER),
        name,
        f"a new memory recalls what another one was told; give each its own state{apart}.",
        untried=unknown,
    )
    place = memory.host.place
    waits = not known and place is not None and place.has_background
    lag = await _lag(memory, EARLIER) if waits else 0.0
    if lag:
        yield _late_verdict(lag, name)
    copy = await memory.fork()
    yield _verdict(
        "a fork knows what was written before it",
        known and not await _recalls(copy, EARLIER),
        name,
        "its fork has forgotten what was written before; copy everything.",
        untried=unknown,
    )
    await _tell(memory, RENAMED)
    await memory.settle()
    yield _verdict(
        "a fork sees nothing of what is written later",
        await _recalls(copy, LATER),
        name,
        "its fork sees what was written later: answers would know the future. Copy the state, or leave `fork` out.",
        untried=unknown,
    )
    first = await memory.recall(BOAT_QUERY, tokens=BUDGET)
    yield _order_verdict(first, name)
    await memory.recall(f"Remember this question: is the boat called {ASKED}, yes {ASKED}?", tokens=BUDGET)
    yield _verdict(
        "recalling changes nothing",
        first != await memory.recall(BOAT_QUERY, tokens=BUDGET),
        name,
        "recalling changes what it recalls; `recall` must leave the memory as it is, and draw nothing at random.",
        untried="" if first else "It recalled nothing.",
    )
    unasked = "" if known and await memory.forget(MemoryEvent(FORGET_BOAT, "user", AT)) else unknown or NO_FORGET
    yield _verdict(
        "what it is asked to forget is gone",
        not unasked and (await _recalls(memory, EARLIER) or await _recalls(memory, LATER)),
        name,
        "it recalls what it was asked to forget; drop it in `forget`, or leave the method out: it is told then.",
        untried=unasked,
    )
    if not known:
        yield _untried_verdict(name, waited=waits)


def _late_verdict(lag: float, name: str) -> ContractVerdict:
    problem = (
        f"it recalls only after {lag:.1f} seconds what it is told, so that questions would be asked too early; give it a "
        f"method `settle` that ends when it has finished its work, or evaluate with --set settle={2 * math.ceil(lag)}."
    )
    return _verdict(RECALLED, True, name, problem)


def _untried_verdict(name: str, *, waited: bool) -> ContractVerdict:
    problem = f"{name!r} did not recall what it had been told, so that what its copies see could not be tried; "
    if waited:
        problem += f"where it takes longer than {LAG_SECONDS:g} seconds, the option settle gives it the time."
    else:
        problem += "it was not waited for, because it has no thread, task or process that works in the background."
    return ContractVerdict(RECALLED, False, problem)


def _order_verdict(recalled: Sequence[str], name: str) -> ContractVerdict:
    """Return a warning where the boat's old name stands below the new one, whose message has more words of the query."""
    text = " ".join(recalled).lower()
    untried = "" if LATER in text and EARLIER in text else "It did not recall both, the older statement and the newer one."
    against_time = 0 <= text.find(LATER) < text.rfind(EARLIER)
    problem = (
        f"{name!r} gives an older statement back below the newer one that replaces it, as texts stand that are sorted by "
        "likeness; a reader takes the last for what holds, so choose by likeness and return in order of time."
    )
    return ContractVerdict("order: what was said later stands below", False, problem if against_time else "", untried)


async def _lag(memory: HostedMemory, word: str) -> float:
    """Return after how many seconds the word is recalled; 0 where it is not."""
    began = time.monotonic()
    pause = 0.1
    while time.monotonic() - began < LAG_SECONDS:
        await asyncio.sleep(pause)
        pause *= 2
        if await _recalls(memory, word):
            return time.monotonic() - began
    return 0.0


async def _tell(memory: HostedMemory, statement: str) -> None:
    """Half of all events, two at a time. The statement comes at the beginning, at the end, and now and then between.

    So a memory that keeps the newest has it, and so has one that stores the oldest first.
    """
    exchanges = EVENTS // 4
    for place in range(exchanges):
        text = f"In week {place + 1} the weather was fine, and I did nothing but read {place + 3} pages."
        if place % EVERY == 0 or place == exchanges - 2:
            text = statement
        await memory.write([MemoryEvent(text, "user", AT), MemoryEvent("That is good to know.", "assistant", AT)])


def _verdict(what: str, broken: bool, name: str, problem: str, *, untried: str = "") -> ContractVerdict:
    if broken:
        return ContractVerdict(what, True, f"Memory {name!r} breaks the contract: {problem}")
    return ContractVerdict(what, False, "", untried)
