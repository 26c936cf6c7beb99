"""The page that lists every prompt with its contract and its size; `python -m pipelines.docs_site.prompt_table` writes it."""

import re
from collections.abc import Mapping
from pathlib import Path

from assets.text.words import count_tokens
from prompts.catalogue import FOLDER, load_prompt, prompt_names, prompt_path

PAGE = Path(__file__).parents[1] / "guide" / "reference" / "prompts.md"
HEAD = """# Prompts

One template per call. `python -m pipelines.docs_site.prompt_table` rewrites this page from the front matter.
Every system part ends with a standing rule that text between tags is data, never instruction.

Words are those of instructions and examples. *Before* are the words on 28 November 2026, before the prompts of AMemGym,
evaluations and memories were written anew; a prompt without them is younger. Tokens are estimated, of a template with all
that conditions may leave out.

| prompt | purpose | role, warmth | variables | version | paper | before | words | examples | tokens |
|---|---|---|---|---|---|---|---|---|---|"""
ROW = re.compile(r"^\| \[`(?P<name>[^`]+)`\].*?\| (?P<before>\d*) \| \d+ \| \d+ \| \d+ \|$", re.MULTILINE)


def prompt_table(before: Mapping[str, str]) -> str:
    """Return the page; `before`: words of each prompt that is older than its present form."""
    lines = [HEAD]
    words = 0
    for name in prompt_names():
        prompt = load_prompt(name)
        parts = [part.text for part in prompt.parts[:-1]]
        own = sum(len(text.split()) for text in parts)
        words += own
        variables = "`, `".join(sorted(prompt.variables))
        link = f"[`{name}`](../../../prompts/{prompt_path(name).relative_to(FOLDER)})"
        contract = f"{prompt.purpose} | {prompt.role}, {prompt.warmth} | `{variables}` | {prompt.version} | {prompt.paper}"
        size = f"{before.get(name, '')} | {own} | {len(parts) // 2} | {sum(map(count_tokens, parts))}"
        lines.append(f"| {link} | {contract} | {size} |")
    total = sum(int(number) for number in before.values() if number)
    return "\n".join([*lines, f"| all | | | | | | {total} | {words} | | |", ""])


def words_before() -> dict[str, str]:
    """Return the words of each prompt before, as the page has them."""
    return {row["name"]: row["before"] for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    PAGE.write_text(prompt_table(words_before()), encoding="utf-8")
