"""Questions to the ledger: sums by stage, model, prompt or variant."""

from dataclasses import dataclass
from typing import Any, Literal

from pipelines.resources.ledger.ledger import NO_REPLY, TABLE, Ledger
from pipelines.resources.storage.database import Connection

Grouping = Literal["variant", "stage", "model", "prompt"]

# Tokens and cost are those of paid calls; errors are calls and tries that brought no reply.
SUMS = f"""
    COUNT(*) FILTER (WHERE outcome NOT IN {NO_REPLY}),
    COUNT(*) FILTER (WHERE cache_hit = 1),
    COUNT(*) FILTER (WHERE outcome IN {NO_REPLY}),
    COALESCE(SUM(input_tokens) FILTER (WHERE cache_hit = 0), 0),
    COALESCE(SUM(cached_input_tokens) FILTER (WHERE cache_hit = 0), 0),
    COALESCE(SUM(output_tokens) FILTER (WHERE cache_hit = 0), 0),
    COALESCE(SUM(cost_usd), 0.0),
    COUNT(*) FILTER (WHERE cost_usd IS NULL),
    AVG(seconds) FILTER (WHERE cache_hit = 0 AND outcome NOT IN {NO_REPLY})
"""


@dataclass(frozen=True)
class LedgerSums:
    """Sums of one group. Tokens and `cost_usd` are of paid calls, of which `unpriced` have no known price."""

    name: str
    calls: int
    hits: int
    errors: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    seconds_per_call: float

    @property
    def hit_rate(self) -> float:
        """The share of calls that the reply cache answered."""
        return self.hits / self.calls if self.calls else 0.0

    @property
    def cost(self) -> str:
        """The cost for a reader, as `dollars` writes it."""
        paid = self.calls - self.hits
        if paid and self.unpriced >= paid:
            return dollars(None, unpriced=self.unpriced)
        return dollars(self.cost_usd, unpriced=self.unpriced)


def dollars(usd: float | None, *, unpriced: int = 0) -> str:
    """An amount for a reader: "unknown" where nobody knows a price, and never a zero in its place."""
    if usd is None:
        return "unknown"
    amount = f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"
    return f"{amount} + unknown" if unpriced else amount


async def sum_calls(ledger: Ledger, *, by: Grouping, variant: str | None = None) -> list[LedgerSums]:
    """One line per group, in order of first appearance; `variant` None: over all variants."""

    def read(connection: Connection) -> list[LedgerSums]:
        wanted = f"(? IS NULL OR variant = ?) AND {ledger.sound_rows(connection)}"
        query = f"SELECT {by}, {SUMS} FROM {TABLE} WHERE {wanted} GROUP BY {by} ORDER BY MIN(rowid)"
        return [_sums(row) for row in connection.execute(query, (variant, variant))]

    return await ledger.calls.run(read)


def _sums(row: tuple[Any, ...]) -> LedgerSums:
    name, calls, hits, errors, sent, cached, received, cost, unpriced, seconds = row
    return LedgerSums(name, calls, hits, errors, int(sent), int(cached), int(received), cost, unpriced, seconds or 0.0)
