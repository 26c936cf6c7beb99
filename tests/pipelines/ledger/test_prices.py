"""Prices come from the user's file, then from the library's own data; what nobody knows is never a zero."""

import threading
from pathlib import Path

import pytest
from genai_prices import data_snapshot

from assets.llm.ports import EndpointError
from assets.llm.usage import Usage
from pipelines.embedded.bank import model_name
from pipelines.resources.ledger.prices import OwnPrice, Price, Prices, read_prices

PAPERS_USER = Usage(input_tokens=140_000, output_tokens=15_200)


def test_the_papers_user_costs_what_the_paper_says() -> None:
    price = Prices({}, base_url="https://api.openai.com/v1").of("gpt-4.1", PAPERS_USER)
    assert price.source == "provider"
    assert price.usd == pytest.approx(0.40, abs=0.005)


def test_tokens_from_the_prefix_cache_cost_less() -> None:
    prices = Prices({})
    cached = prices.of("gpt-4.1", Usage(input_tokens=1_000_000, output_tokens=0, cached_input_tokens=1_000_000)).usd
    assert cached == pytest.approx(0.5)
    assert prices.of("gpt-4.1", Usage(input_tokens=1_000_000, output_tokens=0)).usd == pytest.approx(2.0)


def test_an_endpoint_that_nobody_knows_has_the_list_price_of_the_models_maker() -> None:
    assert Prices({}, base_url="https://proxy.example/v1").of("gpt-4.1", PAPERS_USER).source == "list"


@pytest.mark.parametrize("model", ["made-up", "gpt-made-up"])
def test_a_model_that_nobody_knows_has_no_price(model: str) -> None:
    assert Prices({}).of(model, PAPERS_USER) == Price(None, "unknown")


def test_half_a_price_is_no_price() -> None:
    # The library lists what this model's input costs, and has no price for output.
    assert Prices({}).of("text-embedding-3-small", Usage(input_tokens=1000, output_tokens=10)).usd is None


def test_the_embedded_model_is_free_and_said_to_be() -> None:
    assert Prices({}).of(model_name(), PAPERS_USER) == Price(0.0, "embedded")


def test_the_users_file_goes_before_the_library(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("gpt-4.1: {input: 1, output: 10, cached_input: 0.5}\nours: {input: 0, output: 0}\n")
    prices = Prices(read_prices(path))
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_input_tokens=400_000)
    assert prices.of("gpt-4.1", usage) == Price(pytest.approx(1.8), "own")  # pyright: ignore[reportArgumentType]
    assert prices.of("ours", PAPERS_USER) == Price(0.0, "own")


def test_cached_input_without_a_price_of_its_own_costs_as_other_input() -> None:
    usage = Usage(input_tokens=1_000_000, cached_input_tokens=1_000_000)
    assert OwnPrice(input=2, output=0).of(usage) == pytest.approx(2.0)


def test_the_shipped_file_names_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMEMGYM_PRICES", raising=False)
    assert read_prices() == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gpt-4.1: {input: -1, output: 2}", r"gpt-4\.1\.input has to be 0 or more"),
        ("gpt-4.1: {inputs: 1, output: 2}", r"gpt-4\.1\.input"),
        ("gpt-4.1: {input: .nan, output: 2}", "finite"),
        ("- 1", "the file has to be a group of fields"),
        ("a: {", "is not YAML"),
    ],
)
def test_a_price_file_that_cannot_be_used_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(EndpointError, match=message) as caught:
        read_prices(path)
    assert str(path) in str(caught.value)


def test_a_price_file_that_is_not_there_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match="AMEMGYM_PRICES"):
        read_prices(tmp_path / "none.yaml")


def test_the_librarys_own_data_are_used_and_never_others_from_the_network() -> None:
    Prices({}).of("gpt-4.1", PAPERS_USER)
    assert not data_snapshot.get_snapshot().from_auto_update
    assert not any("genai" in thread.name.casefold() or "price" in thread.name.casefold() for thread in threading.enumerate())


@pytest.mark.parametrize("address", [None, "https://api.openai.com/v1"])
def test_a_model_of_embeddings_needs_no_price_of_output(address: str | None) -> None:
    usd = Prices({}, base_url=address).of("text-embedding-3-small", Usage(calls=1, input_tokens=10**6)).usd
    assert usd == pytest.approx(0.02)
