"""The models that write, judge and play the user, as part of the recipe."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from assets.recipe.extra_body import ExtraBody, extra_body_field
from assets.records.base import Name, Record, quantity
from prompts.template import Role, Warmth

Transport = Literal["live", "batch"]
ROLES: tuple[Role, ...] = ("writer", "judge", "user_simulator")


class ModelSpec(Record):
    """One model in one role. `temperature` None: the parameter is not sent (reasoning models)."""

    model: Name = Field(default="gpt-4.1", description="the model's name as its endpoint knows it")
    temperature: float | None = Field(default=0.2, ge=0, le=2, description="how freely it replies; null: not sent")
    creative_temperature: float | None = Field(default=1.0, ge=0, le=2, description="for questions and state updates")
    max_output_tokens: int = quantity(8192, "tokens", gt=0, description="room for a reply")
    transport: Transport = Field(default="live", description="batch: in batch jobs, at half the price and within a day")
    extra_body: ExtraBody = extra_body_field()

    def temperature_for(self, warmth: Warmth) -> float | None:
        """The temperature of a prompt, by its warmth."""
        return self.creative_temperature if warmth == "creative" else self.temperature


class JudgeSpec(ModelSpec):
    """A model that judges, at temperature 0 unless the recipe says otherwise."""

    temperature: float | None = Field(default=0.0, ge=0, le=2, description="how freely it judges; null: not sent")
    creative_temperature: float | None = Field(default=0.0, ge=0, le=2, description="for creative prompts; judges have none")
    further: tuple[Name, ...] = Field(default=(), description="more models that judge by turns, under the same settings")

    @property
    def panel(self) -> tuple[str, ...]:
        """All judge models, in the order of their turns."""
        return (self.model, *self.further)


class Models(Record):
    """The models that write, judge and play the user."""

    writer: ModelSpec = ModelSpec()
    judge: JudgeSpec = JudgeSpec()
    user_simulator: ModelSpec = ModelSpec()

    def with_names(self, name: Callable[[str], str]) -> "Models":
        """The models with `name` of each in its place; a panel of judges may come to name one twice."""
        further = tuple(map(name, self.judge.further))
        return Models(
            writer=self.writer.model_copy(update={"model": name(self.writer.model)}),
            judge=self.judge.model_copy(update={"model": name(self.judge.model), "further": further}),
            user_simulator=self.user_simulator.model_copy(update={"model": name(self.user_simulator.model)}),
        )

    def for_role(self, role: Role) -> ModelSpec:
        """The model of a prompt's role."""
        return {"writer": self.writer, "judge": self.judge, "user_simulator": self.user_simulator}[role]


@dataclass(frozen=True)
class AskSettings:
    """The models that answer prompts, how often a reply is sent back, and what tells equal requests apart."""

    models: Models
    max_reasks: int
    seed: int
    sample: int = 0
