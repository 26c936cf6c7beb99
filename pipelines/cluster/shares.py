"""Who may have how many of an endpoint's slots."""

from collections.abc import Mapping


def fair_shares(size: int, wants: Mapping[str, int], *, turn: int = 0) -> dict[str, int]:
    """Divide the slots by need: nobody waits while another has more than both need, and what is left over is spread.

    Where slots do not divide evenly, `turn` says who is served first; with a turn that moves on, everyone is in time.
    """
    names = sorted(wants)
    first = turn % len(names) if names else 0
    order = sorted([*names[first:], *names[:first]], key=lambda name: wants[name])  # stable: equals keep their turn
    shares, left = dict.fromkeys(names, 0), size
    for index, name in enumerate(order):
        shares[name] = min(wants[name], _portion(left, len(order) - index))
        left -= shares[name]
    for index, name in enumerate(order):
        more = _portion(left, len(order) - index)
        shares[name] += more
        left -= more
    return shares


def _portion(left: int, among: int) -> int:
    """The larger part comes first."""
    return -(-left // among)
