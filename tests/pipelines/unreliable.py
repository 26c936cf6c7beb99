"""A judge that is wrong as often as a fault profile says, and how often its votes then accept."""

from dataclasses import dataclass

from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.policies import GatePolicy
from pipelines.embedded.app import write_reply
from pipelines.resources.llm.compatibility import ApiCompatibility
from tests.support.simulated_provider.fault_profile import FaultLog, FaultProfile, ReplyFaults, task_of


@dataclass
class Unreliable:
    """The LanguageModel port: the embedded model, with judgements as wrong as the profile makes them."""

    profile: FaultProfile

    async def complete(self, request: ModelRequest) -> ModelReply:
        chat = ApiCompatibility().body(request)
        text = write_reply(task_of(chat))
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        completion = {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        damaged = ReplyFaults(self.profile, log=FaultLog()).apply(chat, completion, meant=chat, path=("", 0))
        return ModelReply(damaged["choices"][0]["message"]["content"], "stop", 1, 1)


def accepted_by_votes(per_reading: float, policy: GatePolicy) -> float:
    """How likely k of n independent votes accept what a single reading accepts with this probability."""
    # The chance of at least k successes in n trials is a regularized incomplete beta function.
    return float(special.betainc(policy.votes_needed, policy.votes - policy.votes_needed + 1, per_reading))
