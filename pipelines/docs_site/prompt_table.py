"""The guide's page on the size of each prompt: `python -m pipelines.docs_site.prompt_table` writes it anew."""

import re
from collections.abc import Mapping
from pathlib import Path

from assets.text.words import count_tokens
from prompts.catalogue import load_prompt, prompt_names

PAGE = Path(__file__).parents[1] / "guide" / "reference" / "prompts.md"
HEAD = """# What prompts take

What stands in a prompt before the data of a call: its instructions, and its examples. Words are those of both. *Before* are
the words on 28 November 2026, before the prompts of AMemGym, evaluations and memories were written anew; a prompt without them
is younger. Tokens are estimated, of a template with all that conditions may leave out.
[All prompts](../../../prompts/README.md) says what each is for.
"""
ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| \w+ \| (?P<before>\d*) \|", re.MULTILINE)


def prompt_table(before: Mapping[str, str]) -> str:
    """Return the page; `before`: words of each prompt that is older than its present form."""
    lines = [HEAD, "| prompt | role | words before | words | examples | tokens |", "|---|---|---|---|---|---|"]
    words = 0
    for name in prompt_names():
        prompt = load_prompt(name)
        parts = [part.text for part in prompt.parts[:-1]]
        own = sum(len(text.split()) for text in parts)
        tokens = sum(map(count_tokens, parts))
        words += own
        cells = (f"`{name}`", prompt.role, before.get(name, ""), str(own), str(len(parts) // 2), str(tokens))
        lines.append(f"| {' | '.join(cells)} |")
    total = sum(int(number) for number in before.values() if number)
    return "\n".join([*lines, f"| all | | {total} | {words} | | |", ""])


def words_before() -> dict[str, str]:
    """Return the words of each prompt before, as the page has them."""
    return {row["name"]: row["before"] for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    PAGE.write_text(prompt_table(words_before()), encoding="utf-8")
