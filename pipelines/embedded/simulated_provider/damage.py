"""Replies that go wrong: cut off, refused, or judged wrongly."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.simulated_provider.exchange import identity
from pipelines.embedded.simulated_provider.fault_profile import Log, Weather
from pipelines.embedded.task import OBJECTION, Task, recognise

Chat = dict[str, Any]
REFUSAL = "I'm sorry, but I can't help with that."


def _wrong_values(task: Task, *, given: dict[str, Any], rng: SeededRandom) -> dict[str, Any] | None:
    options = cast(Mapping[str, list[str]], task.data("state_choices"))
    name = rng.choice(sorted(options))
    others = [option for option in options[name] if option != given[name]]
    return {**given, name: rng.choice(others)} if others else None


def _wrong_number(task: Task, *, given: dict[str, Any], rng: SeededRandom) -> dict[str, Any] | None:
    numbers = [int(key) for key in task.data("choices")] + ([0] if "choose 0" in task.system else [])
    others = [number for number in numbers if number != given["choice"]]
    return {"choice": rng.choice(others)} if others else None


WRONG = {
    "session_queries/check_exposure": _wrong_values,
    "answers/check": _wrong_number,
    "answers/choose": _wrong_number,
}


class Damage:
    """Spoils replies as the weather says, and does not count what it spoilt against the model."""

    def __init__(self, weather: Weather, *, log: Log) -> None:
        self._weather, self._log = weather, log

    def spoil(self, chat: Chat, completion: Chat, *, meant: Chat, path: tuple[str, int]) -> Chat:
        """The completion as it goes out. `path` names this try of `chat`, which asks what `meant` does."""
        choice: dict[str, Any] = completion["choices"][0]
        text: str = choice["message"]["content"] or ""
        if self._weather.brings("refusals", *path):
            self._log.counts["refusals"] += 1
            return _with(completion, {"message": {"role": "assistant", "content": None, "refusal": REFUSAL}}, text=REFUSAL)
        if len(text) > 1 and self._weather.brings("cut_off", *path):
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
        same = identity(meant)
        if not self._weather.brings("wrong_judgements", same):
            return None
        task = task_of(meant)
        if task.name not in WRONG:
            return None
        wrong = WRONG[task.name](task, given=json.loads(text), rng=SeededRandom(self._weather.seed, "wrong", same))
        return None if wrong is None else json.dumps(wrong, ensure_ascii=False)


async def meant_by(chat: Chat, whole: Callable[[Chat], Awaitable[str]]) -> Chat:
    """The chat without the exchanges in which a reply of ours was spoilt and complained about.

    So a request that has to be made again gets what it would have got at once, as from a model whose words were
    garbled on the way. `whole` gives the unspoilt reply to a chat.
    """
    messages: list[dict[str, Any]] = chat["messages"]
    if len(messages) < 3 or not str(messages[-1].get("content")).startswith(OBJECTION):
        return chat
    before = await meant_by({**chat, "messages": messages[:-2]}, whole)
    said, reply = str(messages[-2].get("content")), await whole(before)
    if said == REFUSAL or (said != reply and reply.startswith(said)):
        return before
    return {**chat, "messages": [*before["messages"], *messages[-2:]]}


def task_of(chat: Chat) -> Task:
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
