"""Actions of an agent as typed replies, so that any endpoint can act, and what came of them as messages."""

from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from assets.llm.answer_text import extract_json

RESULT_OF = "Result of "  # how the message with what a tool gave back begins
MOST_OF_RESULT = 20_000  # characters of what one call gives back
CUT = " ... (cut)"
RECALL = "recall"  # the tool by which an agent asks its memory
RESULT_OF_RECALL = f"{RESULT_OF}{RECALL}:"


class Argument(BaseModel):
    """An argument of a call. A number or a truth value is taken as its text."""

    name: str
    value: str | int | float | bool


class Action(BaseModel):
    """The reply of an agent: a call of a tool, something to say, or the end."""

    action: Literal["call", "say", "finish"]
    tool: str | None = None
    arguments: list[Argument] = Field(default_factory=list[Argument])
    text: str | None = None

    @property
    def arguments_by_name(self) -> dict[str, str]:
        """The arguments by name."""
        return {argument.name: str(argument.value) for argument in self.arguments}


def read_action(reply: str) -> Action:
    """Return the action in a reply. Raises ValueError with a sentence for the agent."""
    content = extract_json(reply, keys=("action",))
    try:
        action = Action.model_validate(content)
    except ValidationError as error:
        raise ValueError('That is no action: answer with one JSON object whose "action" is call, say or finish.') from error
    if action.action == "call" and not action.tool:
        raise ValueError('A call names its "tool".')
    if action.action == "say" and not (action.text or "").strip():
        raise ValueError('Give what you say as "text".')
    return action


def result_message(tool: str, result: str) -> str:
    """Return what a tool gave back as an agent is shown it."""
    shown = result if len(result) <= MOST_OF_RESULT else result[:MOST_OF_RESULT] + CUT
    return f"{RESULT_OF}{tool}:\n{shown}"
