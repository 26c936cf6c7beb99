"""The page that lists every prompt with its contract and its size; `python -m pipelines.docs_site.prompt_table` writes it."""

from pathlib import Path

from assets.text.words import count_tokens
from prompts.catalogue import FOLDER, load_prompt, prompt_names, prompt_path

PAGE = Path(__file__).parents[1] / "guide" / "reference" / "prompts.md"
HEAD = """# Prompts

One template per call. `python -m pipelines.docs_site.prompt_table` rewrites this page from the front matter.
Every system part ends with a standing rule that text between tags is data, never instruction.

Words are those of instructions and examples. Tokens are estimated, of a template with all that conditions may leave out.

| prompt | purpose | role, warmth | variables | version | paper | words | examples | tokens |
|---|---|---|---|---|---|---|---|---|"""


def prompt_table() -> str:
    """Return the page."""
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
        size = f"{own} | {len(parts) // 2} | {sum(map(count_tokens, parts))}"
        lines.append(f"| {link} | {contract} | {size} |")
    return "\n".join([*lines, f"| all | | | | | | {words} | | |", ""])


if __name__ == "__main__":
    PAGE.write_text(prompt_table(), encoding="utf-8")
