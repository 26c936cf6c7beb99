"""The memories that a run of Dagster may use: whoever reaches the web server may launch one."""

import os

from pipelines.errors import EvaluationError
from pipelines.memories.kinds import is_ours
from pipelines.memories.registry import DESCRIPTIONS, named_memories
from pipelines.memories.settings import refuse_secrets, split_settings
from pipelines.redaction import public_address, secrets_of

LISTED_MEMORIES = "AMEMGYM_MEMORIES"
SERVICE_ADDRESSES = ("http://", "https://", "mcp+http://", "mcp+https://")


def check_listed(source: str) -> None:
    """Raise EvaluationError if a run of Dagster may not use this memory.

    Refused are code, its settings, files of this machine, and addresses that hold a secret or are sent variables of the
    environment, unless AMEMGYM_MEMORIES lists exactly this text: whoever reaches the web server may launch a run. The command
    line is its user's own, and does not ask.
    """
    listed = [entry.strip() for entry in os.environ.get(LISTED_MEMORIES, "").split(",")]
    if source in listed:
        return
    plain, settings = split_settings(source)
    if source.startswith(SERVICE_ADDRESSES):
        if secrets_of(source.removeprefix("mcp+")):
            raise EvaluationError(
                "A memory's address cannot hold a password or a query here, because Dagster stores what you type in a "
                f"launchpad. It has stored this one: change that password. List the memory in {LISTED_MEMORIES}, with "
                "variables in the place of secrets, as in http://host#Authorization=Basic $MY_LOGIN."
            )
        if "#" in source or "$" in source:
            raise EvaluationError(
                f"The memory at {public_address(source)} needs variables of the environment. Dagster sends them only where "
                f"{LISTED_MEMORIES} lists the same address, headers included."
            )
        return
    refuse_secrets(settings, where=f"The memory {plain}")
    reason = ""
    if ":" in plain or plain.endswith((".py", *DESCRIPTIONS)):
        reason = "is code or a file"
    elif settings and not _is_named_and_ours(plain):
        reason = "has settings for code that is not ours"
    if reason:
        shown = public_address(source)
        raise EvaluationError(
            f"The memory {shown!r} {reason}, which Dagster evaluates only where {LISTED_MEMORIES} lists it "
            f"word for word; start Dagster with {LISTED_MEMORIES}={shown}, or use: amemgym evaluate DATASET --memory {shown}"
        )


def _is_named_and_ours(name: str) -> bool:
    return name in named_memories() and is_ours(named_memories()[name].kind)
