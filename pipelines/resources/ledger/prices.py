"""Prices of calls: from the user's own list, else from a price library that comes with its data and asks no network."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from assets.llm.ports import EndpointError
from assets.llm.usage import Usage
from assets.records.problems import first_problem
from pipelines.embedded.bank import EMBEDDED_URL, MODEL_FAMILY
from pipelines.resources.llm.settings import OPENAI_URL

SHIPPED = Path(__file__).parent / "prices.yaml"
VARIABLE = "AMEMGYM_PRICES"
MILLION = 1_000_000
ANY_TOKENS = Usage(input_tokens=MILLION, output_tokens=MILLION)

# own: the price file. provider: the library, for the endpoint's provider. list: the library, for the model's maker,
# where the endpoint is nobody it knows. embedded: free. unknown: no price, which is not a price of nothing.
PriceSource = Literal["own", "provider", "list", "embedded", "unknown"]


@dataclass(frozen=True)
class Price:
    """US dollars, and who says so; None where nobody does."""

    usd: float | None
    source: PriceSource


class OwnPrice(BaseModel):
    """One line of the price file, in US dollars per million tokens. Without `cached_input`, such tokens cost as others."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)

    def of(self, usage: Usage) -> float:
        """Return the cost of these tokens in US dollars."""
        cached_input = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - usage.cached_input_tokens
        return (fresh * self.input + usage.cached_input_tokens * cached_input + usage.output_tokens * self.output) / MILLION


OWN_PRICES: TypeAdapter[dict[str, OwnPrice]] = TypeAdapter(dict[str, OwnPrice])


class Prices:
    """The prices at one endpoint. `base_url` None: at the makers of the models."""

    def __init__(self, own: Mapping[str, OwnPrice], *, base_url: str | None = None) -> None:
        self._own = dict(own)
        self._base_url = base_url

    def load(self) -> None:
        """Load the library's list now, so that the first paid call does not hold up an event loop for it."""
        _listed_price("", Usage(), base_url=None)

    def of(self, model: str, usage: Usage) -> Price:
        """Return the price of these tokens of this model."""
        own = self._own.get(model)
        if own is not None:
            return Price(own.of(usage), "own")
        # An endpoint may call any model by the embedded one's name.
        if model.startswith(MODEL_FAMILY) and self._base_url in (None, EMBEDDED_URL):
            return Price(0.0, "embedded")
        if self._base_url is not None:
            usd = _listed_price(model, usage, base_url=self._base_url)
            if usd is not None:
                return Price(usd, "provider")
        usd = _listed_price(model, usage, base_url=None)
        if usd is None and self._base_url in (None, EMBEDDED_URL):
            # Where there is no endpoint yet; the library finds models of embeddings at an address only.
            usd = _listed_price(model, usage, base_url=OPENAI_URL)
        source: PriceSource = "unknown" if usd is None else "list"
        return Price(usd, source)

    def free(self, model: str) -> bool:
        """Return True when calls of this model are known to cost nothing."""
        return self.of(model, ANY_TOKENS).usd == 0

    def has_price(self, model: str) -> bool:
        """Return True when the price of this model is known."""
        return self.of(model, ANY_TOKENS).usd is not None


def read_prices(path: Path | None = None) -> dict[str, OwnPrice]:
    """Read the price file: the one given, else the one in AMEMGYM_PRICES, else the shipped one. Raises EndpointError."""
    path = path or Path(os.environ.get(VARIABLE) or SHIPPED)
    try:
        return OWN_PRICES.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}; correct the path in {VARIABLE}"
    except yaml.YAMLError as error:
        problem = f"is not YAML: {' '.join(str(error).split())}"
    except ValidationError as error:
        wrong = " ".join(first_problem(error, whole="the file"))
        problem = f"cannot be used: {wrong}; a line reads 'model: {{input: 0.4, output: 1.6}}'"
    raise EndpointError(f"The price file {path} {problem}.")


def _listed_price(model: str, usage: Usage, *, base_url: str | None) -> float | None:
    # Imported here because its data take 0.7 s to load, which runs on the embedded model need not wait for.
    from genai_prices import Usage as PricedTokens
    from genai_prices import calc_price

    tokens = PricedTokens(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_input_tokens
    )
    try:
        price = calc_price(tokens, model, provider_api_url=base_url)
    except LookupError:
        return None
    # The library counts a price that it lacks as nothing; embeddings need none of output.
    output = price.model_price.output_mtok if usage.output_tokens else 0
    listed = cast(tuple[object, object], (price.model_price.input_mtok, output))
    return None if None in listed else float(price.total_price)
