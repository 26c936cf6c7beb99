"""A certificate: what readers made of a task's final bytes. Whatever is changed later voids it."""

from collections.abc import Iterator, Sequence

from pydantic import Field

from assets.memory_items.ablation import READ, AblationPolicy, ConditionOutcome
from assets.memory_items.documents import TOKENIZER
from assets.records.base import Name, Record
from prompts.catalogue import load_prompt


class Certificate(Record):
    """What was read, by whom, how, and what came of it. `digest` is that of the bytes it stands for."""

    target_tokens: int = Field(description="the length that it is of")
    digest: str = Field(description="sha256 over documents, question and answer")
    readers: tuple[Name, ...] = Field(description="the models that read")
    prompt: str = Field(description="fingerprint of the prompt that they were asked with")
    tokenizer: str = Field(description="what lengths are counted by")
    policy: AblationPolicy = Field(description="how often was read, and how many readings had to be right")
    outcomes: tuple[ConditionOutcome, ...] = Field(description="what the readings of each condition came to")


def certificate(
    outcomes: Sequence[ConditionOutcome], *, target: int, digest: str, readers: Sequence[str], policy: AblationPolicy
) -> Certificate:
    """The certificate of bytes that passed every condition; give it passed outcomes alone."""
    return Certificate(
        target_tokens=target,
        digest=digest,
        readers=tuple(readers),
        prompt=load_prompt(READ).fingerprint,
        tokenizer=TOKENIZER,
        policy=policy,
        outcomes=tuple(outcomes),
    )


def certificate_problems(certified: Certificate, *, digest: str, conditions: Sequence[str]) -> Iterator[str]:
    """A sentence for each reason why the certificate does not stand for these bytes; `conditions` are those it must have."""
    if certified.digest != digest:
        yield f"the certificate is of {certified.digest[:12]}, and the bytes are {digest[:12]}: something was changed after it"
    missing = [name for name in conditions if name not in {one.condition for one in certified.outcomes}]
    if missing:
        yield f"the certificate lacks {', '.join(missing)}"
    for one in certified.outcomes:
        if one.outcome != "pass" or one.errors or not one.readings:
            yield f"the certificate has a condition that is no pass ({one.sentence})"
