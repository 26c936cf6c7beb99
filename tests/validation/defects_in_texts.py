"""Texts that are unfit by their form, each with the rule that says so; good prose otherwise, so that it is the only one."""

from collections.abc import Callable, Iterator

from tests.validation.defects import Defect, Spoil

PLAIN = "I have some time on my hands these days, and I would like to make more of it at home."
ADVICE = f"{PLAIN} Begin with a small step this week, and see what it brings you before the next one."
NL = "\n"
# Name of the defect, rule, text, what the rule says.
ANYWHERE = (
    ("a placeholder in brackets", "no_placeholder", f"{ADVICE} What can [your city] offer?", "'[your city]'"),
    ("a placeholder in braces", "no_placeholder", f"{ADVICE} What about {{{{ hobby }}}}?", "'{{ hobby }}'"),
    ("a note to oneself", "no_placeholder", f"{ADVICE} TODO: what next?", "'TODO'"),
    ("a blank to fill", "no_placeholder", f"{ADVICE} What about ____?", "'____'"),
    ("bold type", "no_markup", f"{ADVICE} What is **really** good?", "'**really**'"),
    ("a heading", "no_markup", f"# Plan{NL}{ADVICE} What next?", "'#'"),
    ("a list", "no_markup", f"{ADVICE}{NL}- eat{NL}- sleep{NL}What next?", "'- e'"),
    ("HTML", "no_markup", f"{ADVICE} What<br>next?", "'<br>'"),
    ("a link", "no_markup", f"{ADVICE} What of [this](page)?", "'[this](page)'"),
    ("code", "no_markup", f"{ADVICE} What of `rest`?", "'`rest`'"),
    ("an option's id", "no_identifier", f"{ADVICE} Is q01-c2 right?", "'q01-c2'"),
    ("a variant's key", "no_identifier", f"{ADVICE} Is variant 2 right?", "'variant 2'"),
    ("a variable's name", "no_identifier", f"{ADVICE} What of my home_type?", "'home_type'"),
    ("an address of mail", "no_contact_data", f"{ADVICE} Write to ann.lee@mail.example, please?", "ann.lee@mail.example"),
    ("a telephone number", "no_contact_data", f"{ADVICE} Call 212-555-0199, please?", "212-555-0199"),
    ("a foreign telephone number", "no_contact_data", f"{ADVICE} Call +49 30 1234567, please?", "+49 30 1234567"),
    ("a page of the web", "no_contact_data", f"{ADVICE} What of https://a.example/b?", "https://a.example/b"),
    ("a card number", "no_contact_data", f"{ADVICE} Is 4111 1111 1111 1111 charged?", "4111 1111 1111 1111"),
    ("a street address", "no_contact_data", f"{ADVICE} Is 12 Baker Street near?", "12 Baker Street"),
    ("a street address in German", "no_contact_data", f"{ADVICE} Is Lindenstraße 4 near?", "Lindenstraße 4"),
    ("a note where a value should stand", "no_placeholder", f"{ADVICE} What about (insert hobby)?", "'(insert hobby)'"),
    ("letters for a name", "no_placeholder", f"{ADVICE} What about XYZ?", "'XYZ'"),
    ("a letter before an option", "no_identifier", f"(b) {ADVICE} What next?", "'(b)'"),
    ("a letter and a bracket", "no_identifier", f"b) {ADVICE} What next?", "'b)'"),
    ("a verdict on itself", "nothing_of_the_task", f"{ADVICE} This is the right answer. What next?", "the right answer"),
    ("a remark to who asked", "nothing_of_the_task", f"Sure! Here is the text you asked for: {ADVICE} What next?", "Sure"),
    ("a label before it", "nothing_of_the_task", f"Answer: {ADVICE} What next?", "'Answer:'"),
    ("an apostrophe read as Latin-1", "no_broken_letters", f"{ADVICE} Donâ€™t I rest?", "'â€'"),
    ("an accent read as Latin-1", "no_broken_letters", f"{ADVICE} What of a cafÃ© now?", "'Ã©'"),
    ("two spaces", "plain_spaces", f"{ADVICE}  What next?", "'  '"),
    ("a non-breaking space", "plain_spaces", f"{ADVICE} What\u00a0next?", "'\\xa0'"),
    ("a tab", "plain_spaces", f"{ADVICE}\tWhat next?", "'\\t'"),
    (
        "a sentence in another language",
        "own_language",
        f"{ADVICE} Ich habe nicht viel Zeit für mich und möchte das gern ändern. What next?",
        "a sentence in another language",
    ),
    (
        "a sentence in another script",
        "own_language",
        f"{ADVICE} 我现在每周只有一点时间，想学点新的东西。 What next?",
        "a sentence in another",
    ),
    (
        "another language",
        "own_language",
        "Ich habe im Moment nicht viel Zeit für mich und möchte das gern ändern, was kann ich in der Woche tun?",
        "'de'",
    ),
    ("another script", "own_language", "我现在每周只有一点时间，想学点新的东西，你有什么建议吗？", "another script"),
    ("a text without end", "usual_length", f"{ADVICE} What next? {PLAIN * 16}", "tokens; write"),
)
IN_QUERIES = (
    ("a time that lies ahead", "own_time", f"{PLAIN} My sister moved in with me in January 2090. What next?", "as if it had"),
    ("a query that asks for nothing", "asks", "I had a long day, and the evening was quiet.", "asks for nothing"),
    ("a query of a word", "usual_length", "Why me?", "has 3 tokens"),
)
IN_ANSWERS = (
    ("a refusal", "no_refusal", f"I'm sorry, but I cannot help with that. {ADVICE}", "I'm sorry"),
    ("a model that says what it is", "no_refusal", f"As an AI, this is new to me. {ADVICE}", "'As an AI'"),
    ("an answer that hedges", "no_hedge", f"It depends on your plans. {ADVICE}", "'It depends'"),
    ("an answer that tells the situation back", "no_situation", f"{ADVICE} Rest more, since you work nights.", "'since you'"),
    ("an answer of a few words", "usual_length", "Begin with a small step.", "tokens; write"),
)
CONTACTS = tuple(one for one in ANYWHERE if one[1] == "no_contact_data")

LANGUAGES = tuple(one for one in ANYWHERE if one[1] == "own_language")


def faulty(texts: tuple[tuple[str, str, str, str], ...], spoil: Callable[[str], Spoil]) -> Iterator[Defect]:
    """A defect for each of the texts, where `spoil` puts it."""
    yield from (Defect(kind, rule, spoil(text), told) for kind, rule, text, told in texts)


def plain_prose(spoil: Callable[[str], Spoil]) -> Iterator[Defect]:
    """The same texts where one rule looks for all of these faults."""
    blocking = (one for one in ANYWHERE if one[1] != "usual_length")
    yield from (Defect(kind, "plain_prose", spoil(text), told) for kind, _, text, told in blocking)
