"""Claims of running workers to an endpoint's slots, in the database: what each holds, and what all may have together.

A claim lives as long as its session: the server drops the session's lock when the worker ends, however it ends. What a dead
worker held stays held for a while, because the endpoint may still be busy with its calls.
"""

from dataclasses import dataclass

from pipelines.cluster.pace import LIMITS, NOW
from pipelines.cluster.postgres import PostgresConnection
from pipelines.cluster.shares import fair_shares
from pipelines.resources.llm.concurrency import FIRST_LIMIT, AimdLimit
from pipelines.resources.storage.database import Table, database_of

SIZES = Table("sizes", {"size": "INTEGER", "halvings": "INTEGER", "successes": "INTEGER"})
CLAIMS = Table("claims", {"place": "TEXT", "held": "INTEGER", "wanted": "INTEGER", "died": "REAL"})
LOCKS = 4201  # the class of advisory locks that stand for living claims
LINGER_SECONDS = 10.0
TURN_SECONDS = 10.0
KEEP_SIZE = (
    "INSERT INTO sizes (key, value, size, halvings, successes) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
    "SET size = excluded.size, halvings = excluded.halvings, successes = excluded.successes"
)
MARK_DEAD = (
    "UPDATE claims SET died = ? WHERE place = ? AND key <> ? AND died IS NULL "
    f"AND pg_try_advisory_xact_lock({LOCKS}, CAST(rowid AS INTEGER))"
)


@dataclass
class Report:
    """What happened at one worker since its last word. `overloads`: the numbers under which overloaded calls were acquired."""

    wanted: int = 0
    successes: int = 0
    overloads: tuple[int, ...] = ()


@dataclass(frozen=True)
class Grant:
    """What a worker may have now, and the number for the calls that it acquires from now on."""

    slots: int
    halvings: int


class Claim:
    """One worker's claim, over a connection of its own. All methods are for one thread. Raises the database's errors."""

    def __init__(self, connection: PostgresConnection, *, place: str, name: str, ceiling: int) -> None:
        self._connection, self._place, self._name, self._ceiling = connection, place, name, ceiling
        with connection.writing():
            insert = "INSERT INTO claims (key, value, place, held, wanted) VALUES (?, ?, ?, 0, 0) RETURNING rowid"
            rowid = connection.execute(insert, (name, b"", place)).fetchone()[0]
            connection.execute(f"SELECT pg_advisory_lock({LOCKS}, CAST(? AS INTEGER))", (rowid,))

    def adapt(self, report: Report) -> Grant:
        """Bring a report, and learn what share there is. It is not yet held: `hold` says what is."""
        with self._connection.writing():
            now: float = self._connection.execute(NOW).fetchone()[0]
            size = self._size(report)
            self._connection.execute(MARK_DEAD, (now, self._place, self._name))
            self._connection.execute("DELETE FROM claims WHERE died < ?", (now - LINGER_SECONDS,))
            self._connection.execute("UPDATE claims SET wanted = ? WHERE key = ?", (report.wanted, self._name))
            query = "SELECT key, wanted FROM claims WHERE place = ? AND died IS NULL"
            wants: dict[str, int] = dict(self._connection.execute(query, (self._place,)))
        shares = fair_shares(size.limit, wants, turn=int(now / TURN_SECONDS))
        return Grant(shares[self._name], size.halvings)

    def hold(self, slots: int, *, at_least: int) -> int:
        """Hold so many slots, as far as the others leave them, and `at_least` what is in use; how many there are now."""
        with self._connection.writing():
            query = "SELECT COALESCE(SUM(held), 0) FROM claims WHERE place = ? AND key <> ?"
            others = int(self._connection.execute(query, (self._place, self._name)).fetchone()[0])
            size: int = self._connection.execute("SELECT size FROM sizes WHERE key = ?", (self._place,)).fetchone()[0]
            held = max(at_least, min(slots, size - others))
            self._connection.execute("UPDATE claims SET held = ? WHERE key = ?", (held, self._name))
        return held

    def end(self) -> None:
        """Give everything back."""
        self._connection.execute("DELETE FROM claims WHERE key = ?", (self._name,))
        self._connection.close()

    def _size(self, report: Report) -> AimdLimit:
        query = "SELECT size, halvings, successes FROM sizes WHERE key = ?"
        row = self._connection.execute(query, (self._place,)).fetchone()
        size = AimdLimit(*row) if row else AimdLimit(FIRST_LIMIT)
        size.limit = min(size.limit, self._ceiling)
        for _ in range(report.successes):
            size.succeeded(ceiling=self._ceiling)
        for acquired in report.overloads:
            size.overloaded(acquired)
        self._connection.execute(KEEP_SIZE, (self._place, b"", size.limit, size.halvings, size.successes))
        return size


def open_claim(*, place: str, name: str, ceiling: int) -> Claim:
    """Connect to the workers' database and claim slots at a place."""
    database = database_of(LIMITS)
    connection = database.connect([SIZES, CLAIMS])
    assert isinstance(connection, PostgresConnection)
    return Claim(connection, place=place, name=name, ceiling=ceiling)
