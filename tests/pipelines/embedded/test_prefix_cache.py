"""The embedded model's usage has the tokens that a provider would have in its prefix cache."""

from pipelines.embedded.app import FEWEST_TOKENS, TOKENS_AT_A_TIME, PrefixCache

LONG = " ".join(f"word{number}" for number in range(2 * FEWEST_TOKENS))


def test_a_long_beginning_that_an_earlier_text_had_is_cached_in_whole_steps() -> None:
    prefixes = PrefixCache()
    assert prefixes.cached_tokens(f"{LONG} And now this.") == 0
    cached = prefixes.cached_tokens(f"{LONG} And then that.")
    assert cached >= FEWEST_TOKENS
    assert cached % TOKENS_AT_A_TIME == 0


def test_a_short_beginning_or_a_later_part_is_not_cached() -> None:
    prefixes = PrefixCache()
    prefixes.cached_tokens(LONG)
    assert prefixes.cached_tokens(LONG[: FEWEST_TOKENS * 2]) == 0
    assert prefixes.cached_tokens(f"Something else first. {LONG}") == 0
