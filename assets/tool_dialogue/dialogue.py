"""A task as a dialogue that can be acted in: the customer asks and answers, tools are called, and the end is graded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assets.text.words import spells
from assets.tool_dialogue.company import Company, Row
from assets.tool_dialogue.domain import Domain, domain_in
from assets.worlds.tools import REFUSED, Call

# Where sessions disagree. Part of what every agent is told.
RULE = (
    "What was settled with the customer in an earlier session holds, unless the customer now says otherwise. What a later call "
    "undid holds no more, and what was settled before it does. Where sessions disagree, what was confirmed in writing or filed "
    "by a call counts first, whatever was said later; then what is neither a thought left open nor the wish of somebody else "
    "than the customer; and then the latest date."
)
REPLY_RULE = (
    "In the end tell the customer in one message the reference of each thing that you made, such as V-100001, and what the "
    "customer asked about, with no other value that it could have."
)
ASKED_AGAIN = "We settled that in an earlier session; please go by what was agreed."
THANKS = "Thank you, that is all."


def report_done(news: Sequence[str]) -> str:
    """Return the words in which a program tells the customer what was asked for."""
    return f"That is done: {', '.join(news)}."


class PlayableTask(Protocol):
    """What a dialogue is about: a company as JSON with its rows, the request, and what grades the end."""

    @property
    def company(self) -> str: ...

    @property
    def rows(self) -> Sequence[Row]: ...

    @property
    def question(self) -> str: ...

    @property
    def calls(self) -> Sequence[Call]: ...

    @property
    def said(self) -> Sequence[str]: ...


@dataclass
class ToolDialogue:
    """One dialogue about a task. The customer is a program: it says what the request says, and nothing that was settled."""

    task: PlayableTask
    company: Company = field(init=False)
    said: list[str] = field(default_factory=list[str])
    done: list[tuple[Call, str]] = field(default_factory=list[tuple[Call, str]])

    def __post_init__(self) -> None:
        self.company = Company(self.domain, self.task.rows)

    @property
    def domain(self) -> Domain:
        return domain_in(self.task.company)

    @property
    def rules(self) -> str:
        """Return whom the agent works for, and by which rules."""
        lines = (*self.domain.policy, RULE, REPLY_RULE)
        listed = "\n".join(f"- {line}" for line in lines)
        return f"You work for {self.domain.company}, which {self.domain.does}.\n{listed}"

    @property
    def opening(self) -> str:
        """The customer's first message."""
        return self.task.question

    @property
    def ended(self) -> bool:
        """Return False: the customer never goes first."""
        return False

    @property
    def tools(self) -> list[dict[str, object]]:
        return [tool.describe_for_prompt() for tool in self.company.tools]

    def writes(self, tool: str) -> bool:
        """Return True for a tool that changes something."""
        return tool in self.domain.tools

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Call a tool, and return what it gives back, or a sentence where it refuses."""
        call = Call(tool=tool, arguments=dict(arguments))
        reply = self.company.call(call)
        self.done.append((call, reply))
        return reply

    def say(self, text: str) -> str:
        """Say something to the customer, and return the customer's reply."""
        self.said.append(text)
        return ASKED_AGAIN if "?" in text else THANKS

    @property
    def changes(self) -> str:
        """Every call that changed something, in order; what the grade looks at first."""
        writes: list[str] = []
        for call, reply in self.done:
            if self.writes(call.tool) and not reply.startswith(REFUSED):
                writes.append(call.text)
        return "; ".join(writes)

    @property
    def failed_by(self) -> str:
        """Return why the end is not what was asked for, "" where it is: the rows in the end, and what was said, count."""
        gold = Company(self.domain, self.task.rows)
        for call in self.task.calls:
            gold.call(call)
        if self.company.state() != gold.state():
            return "the rows in the end are others"
        others: set[str] = set()
        for matter in self.domain.matters.values():
            if not set(self.task.said).isdisjoint(matter.options):
                others.update(matter.options)
        others -= set(self.task.said)
        for text in self.said:
            told = all(spells(text, wanted) for wanted in self.task.said)
            if told and not any(spells(text, other) for other in others):
                return ""
        return f"no message tells the customer {', '.join(self.task.said)}, and nothing else in its place"

    @property
    def final_state(self) -> str:
        """Return "": the steps say everything."""
        return ""

    def close(self) -> None:
        """Do nothing: nothing is held open."""
