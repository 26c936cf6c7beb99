"""An episode goes on whatever an agent replies: it is told what was wrong, and the step counts."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from assets.llm.actions import MOST_OF_RESULT, RESULT_OF, RESULT_OF_RECALL, read_action
from assets.llm.answer_text import UnusableReply
from assets.worlds.steps import MOST_STEPS, UNUSABLE, read_episode, replay_steps, written_episode
from pipelines.agents.episode import WINDOW_TOKENS, in_sight, run_episode
from pipelines.evaluation.acted.agent import named_speaker
from prompts.template import Message
from tests.support.coroutines import run
from tests.support.waiting import LONG

FINISH = json.dumps({"action": "finish"})


def calling(tool: str, **arguments: object) -> str:
    listed = [{"name": name, "value": value} for name, value in arguments.items()]
    return json.dumps({"action": "call", "tool": tool, "arguments": listed})


@dataclass
class Room:
    """A world that keeps what was done in it; the tool `long` gives back more than anybody reads."""

    opening: str = "Please switch the light on."
    rules: str = "You keep the room."
    tools: Sequence[Mapping[str, object]] = ()
    ended: bool = False
    final_state: str = ""
    done: list[str] = field(default_factory=list[str])

    def close(self) -> None: ...

    def writes(self, tool: str) -> bool:
        return tool == "switch"

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        self.done.append(f"{tool} {dict(arguments)}")
        return "x" * (2 * MOST_OF_RESULT) if tool == "long" else "ok"

    def say(self, text: str) -> str:
        self.done.append(f"said {text}")
        return "Thanks."


@dataclass
class Script:
    """An agent that replies by a script, and remembers what it saw. An exception in it is raised."""

    replies: Sequence[str | Exception]
    seen: list[Sequence[Message]] = field(default_factory=list[Sequence[Message]])

    async def ask(self, gone: Sequence[Message], sight: Sequence[Message]) -> str:
        self.seen.append(sight)
        reply = self.replies[min(len(self.seen), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply


def test_an_agent_sees_the_request_then_what_each_action_came_to() -> None:
    room, agent = Room(), Script([calling("switch", light=1), json.dumps({"action": "say", "text": "It is on."}), FINISH])
    steps = run(run_episode(room, agent.ask))
    assert room.done == ["switch {'light': '1'}", "said It is on."]
    assert [messages[-1].content for messages in agent.seen] == [room.opening, f"{RESULT_OF}switch:\nok", "Thanks."]
    assert [step.did for step in steps] == ["wrote", "said", "finished"]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("I would switch it on.", "JSON"),
        ('{"action": "dance"}', "call, say or finish"),
        ('{"action": "call"}', 'names its "tool"'),
        ('{"action": "say", "text": " "}', 'as "text"'),
    ],
)
def test_a_reply_that_is_no_action_is_answered_with_what_is_wrong(reply: str, told: str) -> None:
    room, agent = Room(), Script([reply, FINISH])
    steps = run(run_episode(room, agent.ask))
    assert told in steps[0].seen
    assert room.done == []
    assert [step.did for step in steps] == ["nothing", "finished"]


def test_a_reply_that_was_cut_off_counts_as_a_step() -> None:
    agent = Script([UnusableReply("cut_off", "The answer was cut off."), FINISH])
    steps = run(run_episode(Room(), agent.ask))
    assert [step.seen for step in steps] == ["Your last reply cannot be used. The answer was cut off.", ""]


def test_an_agent_that_goes_round_is_stopped_after_three_times() -> None:
    assert len(run(run_episode(Room(), Script([calling("switch")]).ask))) == 3


def test_an_agent_that_never_finishes_is_stopped() -> None:
    agent = Script([calling("switch", light=number) for number in range(2 * MOST_STEPS)])
    assert len(run(run_episode(Room(), agent.ask))) == MOST_STEPS


def test_recorded_replies_are_taken_before_the_agent_is_asked() -> None:
    room, agent = Room(), Script([FINISH])
    recorded = [calling("switch", light=1), calling("switch", light=2)]
    steps = run(run_episode(room, agent.ask, begun_with=recorded))
    assert [step.reply for step in steps] == [*recorded, FINISH]
    assert len(room.done) == 2
    assert len(agent.seen) == 1


def test_a_result_that_is_too_long_is_cut() -> None:
    agent = Script([calling("long"), FINISH])
    run(run_episode(Room(), agent.ask))
    assert len(agent.seen[1][-1].content) < MOST_OF_RESULT + 100


def test_the_oldest_messages_leave_the_window_and_the_last_one_never_does() -> None:
    messages = [Message("user", "first"), Message("assistant", "word " * WINDOW_TOKENS), Message("user", "last")]
    assert [message.content for message in in_sight(messages)] == ["last"]
    assert in_sight([Message("user", "word " * (2 * WINDOW_TOKENS))])


def test_what_a_memory_gave_takes_no_room_of_the_window_as_long_as_all_fits_a_model() -> None:
    given = Message("user", f"{RESULT_OF_RECALL}\n{'word ' * WINDOW_TOKENS}")
    messages = [Message("user", "first"), given, given, Message("user", "last")]
    assert in_sight(messages) == messages
    assert in_sight([messages[0], *[given] * 20]) == [given] * 12


def test_an_episode_written_down_can_be_done_again() -> None:
    room, again = Room(), Room()
    steps = run(run_episode(room, Script([calling("switch", light=True), "what?", calling("long"), FINISH]).ask))
    replay_steps(again, read_episode(written_episode(steps)))
    assert again.done == room.done


def test_arguments_that_are_no_texts_are_taken_as_their_texts() -> None:
    assert read_action(calling("switch", light=2, dim=0.5, on=True)).arguments_by_name == {
        "light": "2",
        "dim": "0.5",
        "on": "True",
    }


def test_a_user_whom_a_model_plays_is_heard_and_a_user_who_goes_ends_the_episode() -> None:
    room, agent = Room(), Script([json.dumps({"action": "say", "text": "Which light?"})])

    async def hear(words: str) -> tuple[str, tuple[str, ...]]:
        room.ended = True
        return f"{words} None.", ("gone",)

    (step,) = run(run_episode(room, agent.ask, hear=hear))
    assert (step.did, step.seen, step.user) == ("said", "Which light? None.", ("gone",))
    assert room.done == []


def test_an_agent_that_searches_its_memory_changes_nothing() -> None:
    room, agent = Room(), Script([calling("recall", query="the light"), FINISH])

    async def recall(query: str) -> str:
        return f"about {query}"

    steps = run(run_episode(room, agent.ask, recall=recall))
    assert [(step.did, step.seen) for step in steps] == [("looked", f"{RESULT_OF}recall:\nabout the light"), ("finished", "")]
    assert room.done == []


def test_what_does_not_fit_a_narrow_window_is_out_of_sight() -> None:
    room, agent = Room(), Script([calling("switch", light="the one in the kitchen"), FINISH])
    run(run_episode(room, agent.ask, window=1))
    assert [len(seen) for seen in agent.seen] == [1, 1]


def test_an_agent_is_told_which_words_are_the_customers() -> None:
    said = named_speaker(Message("user", "Please help."))
    assert said.content == "The customer says:\nPlease help."
    for other in (Message("assistant", "{}"), Message("user", f"{RESULT_OF}find:\n1"), Message("user", f"{UNUSABLE}Why?")):
        assert named_speaker(other) == other


def test_other_episodes_go_on_while_a_tool_blocks() -> None:
    other_went_on = threading.Event()
    waited: list[bool] = []

    class SlowRoom(Room):
        def call(self, tool: str, arguments: Mapping[str, str]) -> str:
            waited.append(other_went_on.wait(LONG))
            return super().call(tool, arguments)

    class OtherRoom(Room):
        def call(self, tool: str, arguments: Mapping[str, str]) -> str:
            other_went_on.set()
            return super().call(tool, arguments)

    async def both() -> None:
        rooms = (SlowRoom(), OtherRoom())
        await asyncio.gather(*(run_episode(room, Script([calling("look"), FINISH]).ask) for room in rooms))

    run(both())
    assert waited == [True]
