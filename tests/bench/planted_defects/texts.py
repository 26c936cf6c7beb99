"""Defects in the words and form of a text, beside sound texts of the embedded model's bank, which people wrote.

An alarm is any fault that a check of texts finds, or a set of users in which a shortcut over form crosses its limit.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from pydantic import ValidationError

from assets.amemgym.records.question import RequiredInfo
from assets.engine.seeded_random import SeededRandom
from assets.text.text_checks import TextInContext, faults, near_duplicates
from pipelines.embedded.bank import ValuePhrases, Variable, load_bank
from tests.bench.planted_defects.trial import Trial
from tests.support import scenario
from tests.validation.random_questions import PERIODS, adding, random_users
from tests.validation.reports import shortcut_lines

Alarm = Callable[[Trial], Awaitable[bool]]
Plant = Callable[[TextInContext, SeededRandom], TextInContext]
Fold = Callable[[str], str]
SET_USERS, MARKED = 20, 0.4  # users of a set, and the share of questions whose right option is marked
CYRILLIC = str.maketrans("aeopcx", "аеорсх")


def _phrases(rng: SeededRandom) -> tuple[str, Variable, str, ValuePhrases]:
    """A request, a variable, one of its values of two words or more, and the value's phrases."""
    topic = rng.choice(load_bank().topics)
    variable = rng.choice(topic.variables)
    value = rng.choice([name for name in variable.choices if "_" in name] or list(variable.choices))
    return rng.choice(topic.requests), variable, value, variable.choices[value]


def sound_query(rng: SeededRandom) -> TextInContext:
    request, variable, value, phrases = _phrases(rng)
    text = f"I have a question. {rng.choice(phrases.cues)} {request}"
    return TextInContext("query", text, "en", (value,), tuple(variable.choices), name="Olena Marsh")


def sound_answer(rng: SeededRandom) -> TextInContext:
    _, variable, value, phrases = _phrases(rng)
    first, second = rng.sample(phrases.advice, 2)
    return TextInContext("answer", f"{first} {second}", "en", (value,), tuple(variable.choices))


def sound_question(rng: SeededRandom) -> TextInContext:
    topic = rng.choice(load_bank().topics)
    choices = [value for variable in topic.variables for value in variable.choices]
    return TextInContext("question", rng.choice(topic.questions), "en", others=choices)


def sound_event(rng: SeededRandom) -> TextInContext:
    _, _, value, phrases = _phrases(rng)
    return TextInContext("event", rng.choice(phrases.events), "en", others=(value,))


def sound_profile(rng: SeededRandom) -> TextInContext:
    topic = rng.choice(load_bank().topics)
    text = f"Olena Marsh is a night nurse who came from Lviv as a child and knows much about {topic.title}."
    return TextInContext("profile", text, "en")


SOUND = {
    "query": sound_query,
    "answer": sound_answer,
    "question": sound_question,
    "event": sound_event,
    "profile": sound_profile,
}
SPELLS = ("query", "answer", "question")
FOLDS: dict[str, Fold] = {
    "as it is": lambda value: value,
    "with spaces": lambda value: value.replace("_", " "),
    "in capitals": lambda value: value.replace("_", " ").upper(),
    "with hyphens": lambda value: value.replace("_", "\N{NON-BREAKING HYPHEN}"),
    "in the plural": lambda value: f"{value.replace('_', ' ')}" + ("" if value.endswith("s") else "s"),
    "with spacing": lambda value: value.replace("_", " \n  "),
    "without spacing": lambda value: value.replace("_", ""),
    "in full width": lambda value: "".join(chr(ord(one) + 0xFEE0) if one != "_" else "\u3000" for one in value),
    "in Cyrillic letters": lambda value: value.replace("_", " ").translate(CYRILLIC),
    "with invisible characters": lambda value: "\u200b".join(value.replace("_", " ")),
}
NEARLY: dict[str, Fold] = {
    "in another order": lambda value: " ".join(reversed(value.split("_"))),
    "with a letter left out": lambda value: _with_longest_word(value, _without_a_letter),
    "with another ending": lambda value: _with_longest_word(value, lambda word: f"{word.removesuffix('s')}er"),
    "by its initials": lambda value: "".join(f"{word[0].upper()}." for word in value.split("_")),
}
SCRIPTS = {
    "Chinese": ("每周去两次健身房", "我最近{}，想知道下一步怎么安排比较好？", "zh"),
    "Japanese": ("毎晩走っている", "What now, as 私は{} these days, and my mornings are free as before?", "en"),
    "Korean": ("매주_두_번", "I go {} these days, and my mornings are free as before, so what would you suggest?", "en"),
    "Russian": ("раз_в_неделю", "I go {} these days, and my mornings are free as before, so what would you suggest?", "en"),
    "Arabic": ("كل_يوم_صباحا", "I go {} these days, and my mornings are free as before, so what would you suggest?", "en"),
}
ADDED = {
    "a placeholder in brackets": "What of [your city]?",
    "a placeholder in braces": "What of {{ hobby }}?",
    "a placeholder in angles": "What of <insert name>?",
    "a note to oneself": "TODO: say more.",
    "a blank": "It takes ____ hours.",
    "bold type": "It is **really** good.",
    "a list": "Then:\n- eat\n- sleep",
    "a numbered list": "Then:\n1. eat\n2. sleep",
    "a heading": "\n## Plan\nRest.",
    "HTML": "That is<br>all.",
    "a link": "See [this](page).",
    "code": "Type `rest` now.",
    "the id of an option": "That is q01-c2.",
    "the key of a variant": "That is variant 2.",
    "the letter of an option": "That is option B.",
    "the name of a variable": "That is home_type.",
    "a mail address": "Write to ann.lee@mail.example.",
    "a phone number": "Call 212-555-0199.",
    "a phone number of abroad": "Call +49 30 1234567.",
    "a web page": "See https://a.example/b.",
    "a card number": "Pay with 4111 1111 1111 1111.",
    "a bank account": "Pay to DE89 3704 0044 0532 0130 00.",
    "a network address": "Go to 192.168.10.1.",
    "an account": "Ask @ann_lee about it.",
    "a street address": "Go to 12 Baker Street.",
    "a note for a value": "Try (insert hobby).",
    "letters for a name": "Try XYZ.",
    "a verdict on itself": "This is the right answer.",
    "an apostrophe read as Latin-1": "Donâ€™t wait.",
    "an accent read as Latin-1": "Meet at the cafÃ© now.",
    "a sentence in German": "Ich habe nicht viel Zeit für mich und möchte das gern ändern.",
    "a sentence in Chinese": "我现在每周只有一点时间，想学点新的东西。",
}
BEFORE = {
    "a letter in brackets": "(b) ",
    "a letter and a bracket": "b) ",
    "a model's remark": "Sure! Here is the text you asked for: ",
    "a label": "Answer: ",
}
SPACES = {"two spaces": "  ", "a non-breaking space": "\u00a0", "a thin space": "\u2009", "a tab": "\t"}
IN_ANSWERS = {
    "a refusal": "I'm sorry, but I cannot help with that.",
    "an apology": "Sorry, I have nothing to say to that.",
    "a model that says what it is": "As an AI, this is new to me.",
    "a hedge": "It depends on your plans.",
    "a hedge for lack of knowledge": "Without knowing more, that is all.",
}
OTHER_LANGUAGES = {
    "German": "Ich habe im Moment nicht viel Zeit für mich und möchte das gern ändern, was kann ich in der Woche tun?",
    "French": "Je n'ai pas beaucoup de temps pour moi et je voudrais changer, que faire dans la semaine avec les enfants?",
    "Spanish": "No tengo mucho tiempo para mí y me gustaría cambiar eso, ¿qué puedo hacer con los niños en la casa?",
    "Italian": "Non ho molto tempo per me e mi piacerebbe cambiare, che cosa posso fare con i bambini e la casa?",
    "Dutch": "Ik heb op dit moment niet veel tijd en dat wil ik graag anders, wat kan ik in de week met de kinderen doen?",
    "Chinese": "我现在每周只有一点时间，想学点新的东西，你有什么建议吗？",
    "Russian": "У меня сейчас мало времени, и я хочу это изменить, что мне делать на этой неделе?",
}
QUESTIONS_IN_OTHER_LANGUAGES = {
    "Dutch": ("Welke recepten passen bij mij?", "Wat zou je me aanraden rond kamperen?", "Hoe vaak moet ik trainen?"),
    "German": ("Welche Rezepte passen zu mir?", "Was wäre ein gutes Ziel für mich?", "Womit fange ich beim Sparen an?"),
    "French": ("Comment organiser mon jardin ?", "Quelle recette me convient ?", "Par où commencer pour le ranger ?"),
    "Spanish": ("¿Cómo organizo mejor mis tardes?", "¿Qué me recomiendas para ahorrar?", "¿Por dónde empiezo?"),
}
MARKS = {
    "length": " And do so for a good while, whatever else may come along.",
    "punctuation": "; yes!",
    "case": " GO ON.",
    "words": " Zythology quokka.",
}


def text_alarm(kind: str, plant: Plant) -> Alarm:
    """Whether any check finds a fault in the text."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted text", kind, trial.site)
        sound = SOUND[kind](rng)
        return any(faults(plant(sound, rng) if trial.planted else sound))

    return alarm


def _adding(text: str) -> Plant:
    """The text before the sound one or after it."""
    return lambda sound, rng: replace(sound, text=f"{sound.text} {text}" if rng.bernoulli(0.5) else f"{text}\n{sound.text}")


def _before(text: str) -> Plant:
    return lambda sound, _: replace(sound, text=f"{text}{sound.text}")


def _with_space(space: str) -> Plant:
    """One of the text's spaces is another."""
    return lambda sound, _: replace(sound, text=sound.text.replace(" ", space, 1))


def _with_longest_word(value: str, change: Fold) -> str:
    words = value.split("_")
    longest = max(words, key=len)
    return " ".join(change(word) if word == longest else word for word in words)


def _without_a_letter(word: str) -> str:
    return f"{word[: len(word) // 2]}{word[len(word) // 2 + 1 :]}"


def _spelling(fold: Fold, *, own: bool = True) -> Plant:
    def plant(sound: TextInContext, rng: SeededRandom) -> TextInContext:
        others = [value for value in sound.others if "_" in value and value not in sound.own]
        value = sound.own[0] if own and sound.own else rng.choice(others or list(sound.others))
        return replace(sound, text=f"{sound.text} That is what {fold(value)} means.")

    return plant


def _instead(text: str) -> Plant:
    return lambda sound, _: replace(sound, text=text)


def _one_of(texts: Sequence[str]) -> Plant:
    return lambda sound, rng: replace(sound, text=rng.choice(texts))


def _in_script(value: str, sentence: str, language: str) -> Alarm:
    async def alarm(trial: Trial) -> bool:
        told = value.replace("_", " ") if trial.planted else "晚饭后" if language == "zh" else "often"
        text = sentence.format(told)
        return any(faults(TextInContext("query", text, language, own=(value,))))

    return alarm


def _choices_alike(fold: Fold) -> Alarm:
    """Whether choices that differ by a fold alone are refused at the draft."""

    async def alarm(trial: Trial) -> bool:
        _, variable, value, _ = _phrases(SeededRandom("planted choices", trial.site))
        others = [choice for choice in variable.choices if choice != value]
        twin = [fold(value)] if trial.planted else []
        try:
            RequiredInfo(info_type="what_matters", info_choices=(value, *others, *twin))
        except ValidationError:
            return True
        return False

    return alarm


def _near_duplicate(change: Callable[[str], str]) -> Alarm:
    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted twins", trial.site)
        first, second = sound_answer(rng).text, sound_answer(rng).text
        return any(near_duplicates([first, change(first) if trial.planted else second]))

    return alarm


def _questions_alike(change: Callable[[str], str]) -> Alarm:
    """Whether two questions of a user are found to be alike; both frames have many words."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted questions", trial.site)
        first, second = rng.sample([topic.questions[0] for topic in load_bank().topics], 2)
        return any(near_duplicates([first, change(first) if trial.planted else second]))

    return alarm


def _last_first(text: str) -> str:
    """The sentences in another order."""
    sentences = text.split(". ")
    return ". ".join((sentences[-1].rstrip("."), *sentences[:-1])) + "."


def _marked_set(mark: str) -> Alarm:
    async def alarm(trial: Trial) -> bool:
        change = adding(mark) if trial.planted else None
        users = random_users(SET_USERS, seed=trial.site, change=change, share=MARKED)
        lines = shortcut_lines(users, recipe=scenario.recipe(num_periods=PERIODS - 1))
        return any(line.verdict == "crossed" for line in lines)

    return alarm


def _alarms() -> dict[str, Alarm]:
    found: dict[str, Alarm] = {
        f"query: spells its value {how}": text_alarm("query", _spelling(fold)) for how, fold in FOLDS.items()
    }
    found |= {f"answer: spells its value {how}": text_alarm("answer", _spelling(fold)) for how, fold in FOLDS.items()}
    # A query may have a word between, as it may have ordinary words that a value has too.
    found["answer: spells its value with a word between"] = text_alarm(
        "answer", _spelling(lambda value: value.replace("_", " really ", 1).replace("_", " "))
    )
    for kind in ("query", "answer"):
        found |= {f"{kind}: spells its value {how}": text_alarm(kind, _spelling(fold)) for how, fold in NEARLY.items()}
        found |= {f"{kind}: has {what} before it": text_alarm(kind, _before(text)) for what, text in BEFORE.items()}
        found |= {f"{kind}: has {what}": text_alarm(kind, _with_space(space)) for what, space in SPACES.items()}
    plain = FOLDS["with spaces"]
    found |= {
        f"{kind}: spells another value": text_alarm(kind, _spelling(plain, own=False)) for kind in SPELLS if kind != "query"
    }
    found |= {f"query: spells its value in {name}": _in_script(*script) for name, script in SCRIPTS.items()}
    found |= {f"choices: the same {how}": _choices_alike(fold) for how, fold in FOLDS.items() if how != "as it is"}
    found |= {
        f"{kind}: has {what}": text_alarm(kind, _adding(text)) for what, text in ADDED.items() for kind in ("query", "answer")
    }
    found |= {f"answer: has {what}": text_alarm("answer", _adding(text)) for what, text in IN_ANSWERS.items()}
    found |= {f"query: is in {language}": text_alarm("query", _instead(text)) for language, text in OTHER_LANGUAGES.items()}
    for kind in ("question", "profile"):
        found |= {f"{kind}: is in {language}": text_alarm(kind, _instead(text)) for language, text in OTHER_LANGUAGES.items()}
    for language, questions in QUESTIONS_IN_OTHER_LANGUAGES.items():
        found[f"question: is short and in {language}"] = text_alarm("question", _one_of(questions))
    found |= {
        "query: says no I": text_alarm("query", _instead("There is some spare time these days. What would be good to do?")),
        "query: asks for nothing": text_alarm("query", _instead("I had a long day, and the evening was quiet.")),
        "query: speaks of its writer by name": text_alarm("query", _adding("Olena Marsh has a question.")),
        "query: has two words": text_alarm("query", _instead("Why me?")),
        "answer: has a few words": text_alarm("answer", _instead("Begin with a small step.")),
        "answer: has no end": text_alarm("answer", lambda sound, _: replace(sound, text=" ".join([sound.text] * 9))),
        "options: one has a word more": _near_duplicate(lambda text: f"{text} Enjoy."),
        "questions: one has a word more": _questions_alike(lambda text: text.replace("?", " now?")),
        "questions: one is asked again": _questions_alike(lambda text: text),
        "options: one has its sentences in another order": _near_duplicate(_last_first),
    }
    return found | {f"set: {cue} tells the right option": _marked_set(mark) for cue, mark in MARKS.items()}


ALARMS: dict[str, Alarm] = _alarms()
