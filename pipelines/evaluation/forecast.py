"""How large a run is, in calls, tokens and money, before the first call is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from assets.recipe.recipe import Budget
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.extent import Extent, Part, Size, extent_of
from pipelines.evaluation.plan import Options, Roles
from pipelines.evaluation.records import AssistantSpec
from pipelines.resources.ledger.prices import Prices, Tokens

WORDS: dict[Part, str] = {
    "replies": "replies",
    "memory_writes": "memory writes",
    "simulated_user": "messages of the simulated user",
    "checks": "checks of these",
    "interview": "questions and states",
    "baselines": "baselines",
    "embeddings": "embeddings",
}
ROLES: dict[Part, str] = {"simulated_user": "user", "checks": "judge", "embeddings": "embedding"}


@dataclass(frozen=True)
class Forecast:
    """Calls without re-asks; tokens by common lengths, good to about a factor of two.

    `dialogue_tokens`: length of the longest user's whole conversation. `steps`: what is kept when it is done. `usd`: None
    where nobody knows a price.
    """

    sizes: Mapping[Part, Size]
    dialogue_tokens: int
    steps: int
    usd: float | None

    @property
    def calls(self) -> int:
        """Chat completions in all."""
        return sum(size.calls for part, size in self.sizes.items() if part != "embeddings")

    @property
    def tokens(self) -> int:
        """Input and output tokens in all."""
        return sum(size.input_tokens + size.output_tokens for size in self.sizes.values())

    @property
    def sentence(self) -> str:
        """The forecast for a reader."""
        told = ", ".join(f"{size.calls:,} {WORDS[part]}" for part, size in self.sizes.items() if size.calls)
        sent, got = (sum(getattr(size, name) for size in self.sizes.values()) for name in ("input_tokens", "output_tokens"))
        price = "at an unknown price" if self.usd is None else f"${self.usd:,.2f}"
        return (
            f"{self.calls:,} model calls ({told}), fewer where replies are cached; about {_millions(sent)} input and "
            f"{_millions(got)} output tokens, {price}. A conversation grows to about {self.dialogue_tokens:,} tokens."
        )

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        dear = budget.max_cost_usd is not None and self.usd is not None and self.usd > budget.max_cost_usd
        long = budget.max_tokens is not None and self.tokens > budget.max_tokens
        return "This is more than the budget: the run may pause before it is finished." if dear or long else ""


def forecast(dataset: Dataset, spec: AssistantSpec, options: Options, *, roles: Roles, prices: Prices) -> Forecast:
    """Count what the run will ask. Kinds of other packages are counted without their own memory's calls."""
    extents = [extent_of(dataset, episode, spec, options) for episode in dataset.episodes]
    sizes: dict[Part, Size] = {part: Size.sum(extent.sizes[part] for extent in extents) for part in WORDS}
    return Forecast(
        sizes=sizes,
        dialogue_tokens=max(extent.dialogue_tokens for extent in extents),
        steps=sum(map(_steps, extents)),
        usd=_usd(sizes, spec, roles=roles, prices=prices),
    )


def _steps(extent: Extent) -> int:
    return 2 * extent.periods + bool(extent.sizes["baselines"].calls)


def _usd(sizes: Mapping[Part, Size], spec: AssistantSpec, *, roles: Roles, prices: Prices) -> float | None:
    own = {"assistant": spec.settings.get("model"), "embedding": spec.settings.get("embedding_model")}
    total = 0.0
    for part, size in sizes.items():
        role = ROLES.get(part, "assistant")
        if size.calls:
            price = prices.of(str(own.get(role) or getattr(roles, role)), Tokens(size.input_tokens, size.output_tokens))
            if price.usd is None:
                return None
            total += price.usd
    return total


def _millions(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} K"
