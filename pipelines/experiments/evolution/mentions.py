"""How plainly a policy speaks of a state variable (after Table 5): by the words of its name, and nothing cleverer."""

import re

WORD = re.compile(r"[^\W\d_]{3,}")
ROOT = 5  # letters that forms of one word share


def mention(policy: str, variable: str) -> float:
    """The largest share of the name's words that stand in one line of the policy: 1 names it outright, 0 not at all."""
    wanted = _roots(variable.replace("_", " "))
    found = max((len(wanted & _roots(line)) for line in policy.splitlines()), default=0)
    return round(found / len(wanted), 4) if wanted else 0.0


def _roots(text: str) -> set[str]:
    return {word[:ROOT] for word in WORD.findall(text.lower())}
