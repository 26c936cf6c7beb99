"""Statements of AMemGym's card and Croissant metadata on every release: title, use, limits, people, citation."""

from pathlib import Path

from assets.recipe.recipe import Recipe

CITATION = (Path(__file__).parent / "citation.bib").read_text(encoding="utf-8").strip()
PAPER = "https://openreview.net/forum?id=sfrVLzsmlf"
# The Hub makes this link a tag of the data set.
ARXIV = "https://arxiv.org/abs/2603.01966"
PAPER_CODE = "https://github.com/AGI-Eval-Official/amemgym"
PAPER_DATA = "https://huggingface.co/datasets/AGI-Eval/AMemGym"
TAGS = ("memory", "long-horizon", "personalization", "multiple-choice", "synthetic", "benchmark")
ROW_MEANINGS: dict[str, str] = {
    "users": "a user's profile",
    "state_variables": "a variable of a user's schema with its choices",
    "periods": "a period of a user's life",
    "states": "a variable's value at the end of a period",
    "sessions": "a session: event, first utterance, values it reveals",
    "questions": "a question with the right option of each period",
    "answer_choices": "an option of a question",
    "gate_records": "a judgement of a draft",
    "failures": "a user who was replaced",
}
USES = (
    "It is meant for evaluating memory on-policy: the assistant under test answers each session itself, and is then asked "
    "the questions. Replaying somebody else's dialogue measures something else.",
    "Do not evaluate a model with it that was trained on it.",
)
LIMITS = (
    "Gates and rules make wrong options rare; they do not prove that each one is right. Some questions can be guessed better "
    "than by chance, so report a random and a question-only baseline beside a score.",
    "Every question is multiple choice: recognizing the right option is easier than acting on what one remembers.",
    "Users say what changed in plain words and once. People hint, repeat themselves and take things back.",
)
BIASES = (
    "The lives reflect the personas and the models that wrote them, with their biases. They do not represent a population.",
)
PEOPLE = (
    "All people in it are invented. Likeness to a real person is chance, and nothing here is advice about health, money or "
    "law.",
)


def title(recipe: Recipe) -> str:
    return f"Synthesized AMemGym benchmark ({recipe.variant})"


def data_json_path(variant: str) -> str:
    """The file in the reference's shape, relative to the release."""
    return f"{variant}/data.json"
