"""What a finished run took, held against its rows: whom it asked, how often, with how many tokens, and at what price."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, TypeAdapter, ValidationError

from assets.llm.ports import EndpointError
from assets.llm.usage import NANO, Usage
from assets.records.public_names import shared_model
from assets.text.words import count_tokens
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.evaluation.spending import ROLE_OF_PURPOSE, ItemUsage, PurposeUsage, priced_fields
from pipelines.resources.ledger.prices import Prices, read_prices
from prompts.catalogue import load_prompt, prompt_names

OF_ROWS = ("interview", "baselines")  # purposes whose calls are those of the answers
LEAST_SHARE = 1 / 3  # of the tokens that texts have by our estimate: no tokenizer needs fewer


class _Step(BaseModel):
    """Of a step of an episode, what this module reads; it knows no world."""

    reply: str


STEPS = TypeAdapter(list[_Step])


def asked_problems(run: FinishedRun) -> Iterator[str]:
    """Yield a sentence where the items are another run's, ran behind another boundary, or asked other models."""
    manifest = run.manifest
    if any(row.run_id != manifest.run_id for row in run.usage):
        yield "usage.parquet is that of another run."
    asked = [row for row in run.usage if row.spending]
    for boundary in sorted({row.boundary for row in asked} - {manifest.boundary}):
        yield f"its manifest names the boundary {manifest.boundary!r}, and items of it had {boundary!r}."
    for purpose, models in _models_by_purpose(asked).items():
        others = models - _named_models(manifest, purpose)
        if others:
            yield f"the manifest does not name {', '.join(sorted(others))}, which the run asked ({purpose})."


def _models_by_purpose(usage: Sequence[ItemUsage]) -> dict[str, set[str]]:
    found = dict[str, set[str]]()
    for row in usage:
        for purpose, used in row.spending.items():
            found.setdefault(purpose, set()).update(used.models)
    return found


def _named_models(manifest: RunManifest, purpose: str) -> set[str]:
    """Return the models that calls for the purpose may ask: those of its role, and of a memory those that were allowed."""
    models = manifest.shared().models
    role = {**ROLE_OF_PURPOSE}.get(purpose, "")
    if role in ("memory", "embedding"):
        return {models["memory"], models.get("embedding", ""), *map(shared_model, manifest.more_models)}
    return {models[role]} if role else set(models.values())


def usage_differences(run: FinishedRun, item_id: str, asks: Usage, *, exact: bool) -> Iterator[str]:
    """Yield a sentence where an item's calls are not those of its answers, whose usage is `asks`.

    `exact`: every call stands in a row. An agent's answer may have calls of other purposes in it, and answers that were lost
    have no row.
    """
    manifest = run.manifest
    spending: Mapping[str, PurposeUsage] = {}
    for row in run.usage:
        if row.item_id == item_id:
            spending = row.spending
    exact = exact and not manifest.memory.whole and manifest.mode != "episode"
    purposes = OF_ROWS if exact else tuple(spending)
    told = Usage()
    for purpose in purposes:
        if purpose in spending:
            told += Usage.model_validate(spending[purpose].model_dump(exclude={"models"}))
    for name, amount in priced_fields(asks).items():
        own = getattr(told, name)
        if own is not None and amount is not None and (own != amount if exact else own < amount):
            yield f"{item_id}: its answers took {amount:,} {name.replace('_', ' ')}, and usage.parquet says {own:,}."


def unlikely_usage(run: FinishedRun) -> Iterator[str]:
    """Yield what the rows cannot settle: files beside the digest, changed prompts, few tokens, a price that is not today's."""
    opened = sorted({name for row in run.usage for name in row.opened})
    if opened:
        yield f"what these files held, which its memory opened and its digest does not have: {', '.join(opened)}"
    changed = changed_prompts(run.manifest)
    if changed:
        yield f"what was asked, because these prompts have changed since: {', '.join(changed)}"
    read = _rows_of_calls(run)
    asked = sum(count_tokens(row.asked) + sum(map(count_tokens, row.memories)) for row in read)
    for what, texts, told in (
        ("input", asked, sum(row.input_tokens for row in read)),
        ("output", sum(count_tokens(_words_of_model(run, row)) for row in read), sum(row.output_tokens for row in read)),
    ):
        if told < LEAST_SHARE * texts:
            yield f"the {what} tokens of its answers: {told:,} are told, and their texts alone have about {texts:,}"
    yield from _unlikely_prices(run)


def _words_of_model(run: FinishedRun, row: AnswerRow) -> str:
    """Return what the model itself wrote for an answer; an episode's row has what its tools returned beside it."""
    if run.manifest.mode != "episode":
        return row.reply
    try:
        return " ".join(step.reply for step in STEPS.validate_json(row.reply))
    except ValidationError:  # a row that was changed, of which the grading says so
        return ""


def _rows_of_calls(run: FinishedRun) -> list[AnswerRow]:
    """Return a row for each call that was read at once; one call may ask for all states of a period."""
    found = dict[tuple[object, ...], AnswerRow]()
    for row in run.answers:
        if row.calls and row.tries == 1 and not row.reason:
            found.setdefault((row.user_id, row.period, row.kind, row.budget, row.asked, row.memories), row)
    return list(found.values())


def changed_prompts(manifest: RunManifest) -> list[str]:
    """Return the names of the run's prompts that have other words now."""
    known = set(prompt_names())
    return [name for name, mark in manifest.prompts.items() if name not in known or load_prompt(name).fingerprint != mark]


def _unlikely_prices(run: FinishedRun) -> Iterator[str]:
    """Yield a sentence where money is not between today's prices of cached and of fresh tokens."""
    address = run.manifest.places[0].partition(" ")[0] if run.manifest.places else None
    try:
        prices = Prices(read_prices(), base_url=address)
    except EndpointError as error:
        yield f"its money: {error}"
        return
    for purpose, models in _models_by_purpose(run.usage).items():
        used = run.results.spending.get(purpose, Usage())
        # Fewer tokens than none follow from no rows, which is said before.
        if len(models) != 1 or min(used.input_tokens, used.output_tokens) < 0:
            continue
        [model] = models
        fresh = prices.of(model, used.model_copy(update={"cached_input_tokens": 0})).usd
        cached = prices.of(model, used.model_copy(update={"cached_input_tokens": used.input_tokens})).usd
        if used.nano_usd is None or fresh is None or cached is None:
            continue
        # Each call was rounded.
        if not cached * NANO - used.calls <= used.nano_usd <= fresh * NANO + used.calls:
            listed = f"${cached:.4f} to ${fresh:.4f}"
            yield f"its money for {purpose}: ${used.nano_usd / NANO:.4f} are told, and today's list has {listed}"
