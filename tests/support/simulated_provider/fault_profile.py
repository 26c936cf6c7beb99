"""How a simulated provider behaves: how slow it is, how much it lets through, how often it fails, and what failing does."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.task import OBJECTION, PromptTask, recognise
from tests.support.simulated_provider.exchange import identity, without_model

Fault = Literal["errors", "hangs", "drops", "cut_off", "refusals", "wrong_judgements", "expired"]


def _number(about: str) -> Any:
    return field(default=0.0, metadata={"about": about})


def _count(about: str) -> Any:
    return field(default=0, metadata={"about": about})


def _rate(about: str) -> Any:
    return field(default=0.0, metadata={"about": f"Share of {about}, from 0 to 1.", "most": 1.0})


@dataclass(frozen=True, kw_only=True)
class FaultProfile:
    """No faults by default. Where 0 would mean nothing gets through, it means no limit.

    A fault is a matter of the seed, of what a request says and of how often it was made before; never of the clock or of
    other requests. Raises ValueError when a number is negative or a rate above 1.
    """

    latency: float = _number("Seconds before a reply begins.")
    prefill: float = _number("Input tokens read per second; 0: at once.")
    decode: float = _number("Output tokens written per second; 0: at once.")
    requests_per_minute: int = _count("Requests let through per minute; 0: no limit.")
    tokens_per_minute: int = _count("Tokens let through per minute; 0: no limit.")
    errors: float = _rate("requests answered with status 500")
    hangs: float = _rate("requests never answered")
    drops: float = _rate("requests whose connection closes without a response, after the work was done")
    cut_off: float = _rate("replies cut off in the middle")
    refusals: float = _rate("replies that refuse")
    wrong_judgements: float = _rate("judgements replaced by another legal one")
    batch_delay: float = _number("Seconds that a batch job takes.")
    expired: float = _rate("lines of a batch that are not done in time")
    seed: int = _count("Seed of the faults.")

    def __post_init__(self) -> None:
        for option in fields(self):
            value, most = getattr(self, option.name), option.metadata.get("most")
            if value < 0 or (most is not None and value > most):
                raise ValueError(f"{option.name} is {value}; it goes from 0 up{f' to {most:g}' if most else ''}.")

    def strikes(self, fault: Fault, *path: object) -> bool:
        """Whether the fault strikes the request with this path."""
        return SeededRandom(self.seed, fault, *path).bernoulli(getattr(self, fault))

    def seconds(self, input_tokens: int, *, output_tokens: int) -> float:
        """How long a reply takes."""
        reading = input_tokens / self.prefill if self.prefill else 0.0
        return self.latency + reading + (output_tokens / self.decode if self.decode else 0.0)


@dataclass
class FaultLog:
    """What happened so far. `tries` counts how often each request was made, refusals for lack of quota left out."""

    counts: Counter[str] = field(default_factory=Counter[str])
    tries: Counter[str] = field(default_factory=Counter[str])

    def tried(self, identity: str) -> int:
        """Count a try; how many there were before it."""
        self.tries[identity] += 1
        return self.tries[identity] - 1


Chat = dict[str, Any]
# Beneath a request that starts afresh, where what came before was cut off or refused.
DAMAGE_TOLD = re.compile(r"(?:\nAn earlier answer could not be used\. (?:The request was refused|The answer was cut off).*)+\Z")
REFUSAL = "I'm sorry, but I can't help with that."


LEFT_OUT = ""


def _wrong_values(task: PromptTask, *, given: dict[str, Any], rng: SeededRandom) -> dict[str, Any]:
    """The readings with one variable of each message read as another of its choices, or left out where that is allowed."""
    choices = cast(Mapping[str, list[str]], task.data("state_choices"))
    may_leave_out = "Leave out all variables" in task.system
    readings: list[dict[str, Any]] = []
    for reading in given["readings"]:
        name = rng.choice(sorted(choices))
        tells: dict[str, str] = reading["tells"]
        options = [*choices[name], *([LEFT_OUT] if may_leave_out else [])]
        wrong = rng.choice([option for option in options if option != tells.get(name, LEFT_OUT)] or [LEFT_OUT])
        changed = {**tells, name: wrong}
        readings.append({**reading, "tells": {name: value for name, value in changed.items() if value != LEFT_OUT}})
    return {"readings": readings}


def _wrong_probes(task: PromptTask, *, given: dict[str, Any], rng: SeededRandom) -> dict[str, Any]:
    """The readings with one variable of each message read as another of its numbered choices, or left out."""
    numbers = [{int(choice.partition(" ")[0]) for choice in own} for _, own in sorted(task.data("state_choices").items())]
    wrong: dict[str, Any] = {}
    for key, reading in given.items():
        told = reading["told"]
        own = rng.choice(numbers)
        others = [[number] for number in sorted(own.difference(told))]
        rest = [number for number in told if number not in own]
        left_out: list[list[int]] = [[]] if len(rest) < len(told) else []
        wrong[key] = {**reading, "told": [*rest, *rng.choice([*others, *left_out])]}
    return wrong


def _wrong_numbers(task: PromptTask, *, given: dict[str, Any], rng: SeededRandom) -> dict[str, Any]:
    """The replies with another legal number for every answer or situation."""
    cases = cast(Mapping[str, Mapping[str, Any]], task.data("cases"))
    asked, offered = ("answers", "situations") if "from answers to" in task.system else ("situations", "answers")
    least = 0 if "give 0" in task.system else 1
    wrong = dict(given)
    for case in cases.values():
        for key in case[asked]:
            others = [number for number in range(least, len(case[offered]) + 1) if number != given[key]]
            wrong[key] = rng.choice(others) if others else given[key]
    return wrong


WRONG = {
    "session_queries/probe": _wrong_probes,
    "session_queries/check_exposure": _wrong_values,
    "answers/check": _wrong_numbers,
    "answers/choose": _wrong_numbers,
}


class ReplyFaults:
    """Cuts off, refuses or misjudges replies as the profile says."""

    def __init__(self, profile: FaultProfile, *, log: FaultLog) -> None:
        self._profile, self._log = profile, log

    def apply(self, chat: Chat, completion: Chat, *, meant: Chat, path: tuple[str, int]) -> Chat:
        """The completion as it goes out. `path` names this try of `chat`, which asks what `meant` does."""
        choice: dict[str, Any] = completion["choices"][0]
        text: str = choice["message"]["content"] or ""
        if self._profile.strikes("refusals", *path):
            self._log.counts["refusals"] += 1
            return _with(completion, {"message": {"role": "assistant", "content": None, "refusal": REFUSAL}}, text=REFUSAL)
        if len(text) > 1 and self._profile.strikes("cut_off", *path):
            self._log.counts["cut_off"] += 1
            half = text[: len(text) // 2]
            return _with(completion, {"message": {**choice["message"], "content": half}, "finish_reason": "length"}, text=half)
        wrong = self._misjudged(meant, text)
        if wrong is None:
            return completion
        self._log.counts["wrong_judgements"] += 1
        return _with(completion, {"message": {**choice["message"], "content": wrong}}, text=wrong)

    def _misjudged(self, meant: Chat, text: str) -> str | None:
        # By content alone: who asks for the same judgement again hears the same.
        same = identity(without_model(meant))
        if not self._profile.strikes("wrong_judgements", same):
            return None
        task = task_of(meant)
        if task.name not in WRONG:
            return None
        wrong = WRONG[task.name](task, given=json.loads(text), rng=SeededRandom(self._profile.seed, "wrong", same))
        return json.dumps(wrong, ensure_ascii=False)


async def meant_by(chat: Chat, whole: Callable[[Chat], Awaitable[str]]) -> Chat:
    """The chat without the exchanges in which a reply was damaged and complained about, or without what is told of them.

    So a request that has to be made again gets what it would have got at once, as from a model whose words were
    garbled on the way. `whole` gives the undamaged reply to a chat.
    """
    messages: list[dict[str, Any]] = chat["messages"]
    told = str(messages[-1].get("content")) if messages else ""
    untold = DAMAGE_TOLD.sub("", told)
    if untold != told:
        return await meant_by({**chat, "messages": [*messages[:-1], {**messages[-1], "content": untold}]}, whole)
    if len(messages) < 3 or not told.startswith(OBJECTION):
        return chat
    before = await meant_by({**chat, "messages": messages[:-2]}, whole)
    text, reply = str(messages[-2].get("content")), await whole(before)
    if text == REFUSAL or (text != reply and reply.startswith(text)):
        return before
    return {**chat, "messages": [*before["messages"], *messages[-2:]]}


def task_of(chat: Chat) -> PromptTask:
    """What a chat asks for."""
    wanted = cast(dict[str, Any], chat.get("response_format") or {})
    named = cast(dict[str, Any], wanted.get("json_schema") or {})
    messages = [{"role": message["role"], "content": _plain(message.get("content"))} for message in chat["messages"]]
    return recognise(messages, schema_name=named.get("name"), seed=chat.get("seed") or 0)


def _plain(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in cast(list[dict[str, Any]], content))
    return str(content or "")


def _with(completion: Chat, changes: Mapping[str, Any], *, text: str) -> Chat:
    """The completion with another first choice, its usage set right by the length of the text."""
    choice, usage = completion["choices"][0], completion["usage"]
    length = max(1, len(choice["message"]["content"] or ""))
    tokens = -(-usage["completion_tokens"] * len(text) // length)
    usage = {**usage, "completion_tokens": tokens, "total_tokens": usage["prompt_tokens"] + tokens}
    return {**completion, "choices": [{**choice, **changes}], "usage": usage}
