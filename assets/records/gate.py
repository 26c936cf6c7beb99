"""Records of gates: every vote on every draft and refinement."""

from pydantic import Field

from assets.records.base import Name, Record


class GateRecord(Record):
    """One vote on one draft. `target` is what should be read, `reading` what the judge read ("cannot tell" as "").

    exposure: the values of variables, from the query; a variable that it must not tell has the target "".
    recovery: the variant, from question and answer. choice: the variant whose answer the judge chose, knowing the state.
    `judge` is the model that read.
    """

    gate: Name = Field(description="exposure, recovery or choice")
    item_id: Name = Field(description="which query or answer of the user")
    draft: int = Field(description="how often it had been drafted anew")
    refinement: int = Field(description="how often this draft had been refined")
    vote: int = Field(description="which vote on this text, from 0")
    judge: Name = Field(description="the model that read")
    text: str = Field(description="what was read")
    target: dict[str, str] = Field(description="what should be read")
    reading: dict[str, str] = Field(description="what was read out of it; empty for: cannot tell")
    accepted: bool = Field(description="whether this vote accepts the text")
