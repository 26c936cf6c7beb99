"""Texts in any language of a recipe pass the checks, and the same faults are found in all of them."""

from collections.abc import Iterable
from typing import Any

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.questions import draft_questions
from assets.text.languages import FORMS, LANGUAGES
from assets.text.text_checks import TextInContext, TextKind, faults
from prompts.catalogue import load_prompt, prompt_names
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe

# A query in the first person that asks for something, and an answer, as good writers of the language would have them.
QUERIES = {
    "en": "My knees complain on every stair, so what could I do in the evenings instead of running?",
    "zh": "我上楼梯时膝盖总是疼，晚上除了跑步我还能做什么运动？",
    "ar": "ركبتاي تؤلمانني على الدرج، فماذا يمكنني أن أفعل في المساء بدلا من الجري؟",
    "de": "Auf jeder Treppe melden sich meine Knie. Was könnte ich abends tun, statt laufen zu gehen?",
    "es": "Las rodillas se quejan en cada escalón, ¿qué puedo hacer por las tardes en lugar de correr?",
    "fr": "Mes genoux se plaignent à chaque marche, que pourrais-je faire le soir au lieu de courir ?",
    "hi": "सीढ़ियों पर मेरे घुटने दुखते हैं, शाम को दौड़ने के बजाय मैं क्या करूँ?",
    "it": "A ogni gradino le mie ginocchia protestano: che cosa potrei fare la sera invece di correre?",
    "ja": "階段のたびに膝が痛みます。夜は走る代わりに何をすればいいでしょうか。",
    "ko": "계단을 오를 때마다 무릎이 아픈데, 저녁에 달리기 대신 무엇을 하면 좋을까요?",
    "nl": "Bij elke trede klagen mijn knieën. Wat zou ik in de avond kunnen doen in plaats van hardlopen?",
    "pt": "Em cada degrau os meus joelhos reclamam. O que eu poderia fazer à noite em vez de correr?",
    "ru": "На каждой ступеньке у меня ноют колени. Чем мне заняться вечером вместо пробежки?",
}
ANSWERS = {
    "en": "Swim slow laps twice, and keep the kick small. Stop at the first sting and try again after a day off.",
    "zh": "每次慢慢游几个来回，腿部动作小一点。一觉得刺痛就停下来，休息一天之后再试。",
    "ar": "اسبح ببطء عدة مرات وحرك ساقيك قليلا. توقف عند أول ألم وحاول مرة أخرى بعد يوم من الراحة.",
    "de": "Schwimm ein paar ruhige Bahnen und mach den Beinschlag klein. Hör beim ersten Stechen auf und mach einen Tag frei.",
    "es": "Nada unos largos tranquilos y mueve poco las piernas. Para al primer pinchazo y descansa un día.",
    "fr": "Nage quelques longueurs lentes en bougeant peu les jambes. Arrête-toi à la première douleur et repose-toi un jour.",
    "hi": "धीरे धीरे कुछ चक्कर तैरो और पैर कम चलाओ। पहली चुभन पर रुक जाओ और एक दिन के आराम के बाद फिर कोशिश करो।",
    "it": "Nuota qualche vasca lenta e muovi poco le gambe. Fermati alla prima fitta e riprova dopo un giorno di riposo.",
    "ja": "ゆっくり数往復泳ぎ、足の動きは小さくしましょう。少しでも痛んだら止めて、一日休んでからまた試してください。",
    "ko": "천천히 몇 바퀴 헤엄치고 발차기는 작게 하세요. 처음 따끔하면 멈추고 하루 쉰 다음 다시 해 보세요.",
    "nl": "Zwem een paar rustige banen en houd de beenslag klein. Stop bij de eerste steek en neem een dag rust.",
    "pt": "Nade algumas voltas lentas e mexa pouco as pernas. Pare na primeira pontada e descanse um dia.",
    "ru": "Проплывите несколько спокойных кругов и мало двигайте ногами. При первой боли остановитесь и отдохните день.",
}
REFUSALS = {
    "zh": "抱歉，作为人工智能语言模型，我没有办法给出这方面的建议，请咨询医生。",
    "de": "Es tut mir leid, als Sprachmodell kann ich dir dabei nicht helfen. Frag lieber einen Arzt.",
    "es": "Lo siento, como modelo de lenguaje no puedo ayudar con eso. Consulta mejor a un médico.",
    "fr": "Je suis désolé, en tant qu'assistant je ne peux pas t'aider ici. Demande plutôt à un médecin.",
    "ja": "申し訳ありませんが、AIとしてそのような助言はできません。医師に相談してください。",
    "pt": "Sinto muito, como modelo de linguagem não posso ajudar com isso. Procure antes um médico.",
    "ru": "Извините, но как языковая модель я не могу помочь с этим. Лучше спросите врача.",
}


SITUATIONS_TOLD_BACK = {
    "en": "You have no oven at home, so use the pan. Both sides need four minutes.",
    "zh": "因为你晚上上班，所以早上坐公交车去，路上可以睡一会儿。",
    "ar": "خذ القطار في الصباح لأنك تعمل ليلا، ونم قليلا في الطريق.",
    "de": "Nimm morgens den Zug, weil du nachts arbeitest, und schlaf unterwegs ein wenig.",
    "es": "Ve a pie por la mañana, ya que vives cerca, y deja el coche para la compra.",
    "fr": "Prends le train le matin, puisque tu travailles la nuit, et dors un peu en route.",
    "hi": "सुबह की ट्रेन लो, क्योंकि तुम रात में काम करते हो, और रास्ते में थोड़ा सो लो।",
    "it": "Vai a piedi la mattina, visto che vivi vicino, e lascia la macchina per la spesa.",
    "ja": "あなたは夜に働いているので、朝の電車に乗って少し眠りましょう。",
    "ko": "당신은 밤에 일하니까 아침 기차를 타고 조금 주무세요.",
    "nl": "Neem 's ochtends de trein, omdat je 's nachts werkt, en slaap onderweg een beetje.",
    "pt": "Vá a pé de manhã, já que você mora perto, e deixe o carro para as compras.",
    "ru": "Поезжайте утром на поезде, поскольку вы работаете ночью, и поспите в дороге.",
}


def names_of(kind: TextKind, text: str, language: str, *own: str) -> set[str]:
    return {check.name for check, _ in faults(TextInContext(kind, text, language, own))}


@pytest.mark.parametrize("language", LANGUAGES)
def test_good_texts_of_every_language_have_no_fault(language: str) -> None:
    assert names_of("query", QUERIES[language], language) == set()
    assert names_of("answer", ANSWERS[language], language) == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_in_another_language_is_told(language: str) -> None:
    wrong = [name for name, text in ANSWERS.items() if "own_language" not in names_of("answer", text, language)]
    assert wrong == [language]


@pytest.mark.parametrize("language", REFUSALS)
def test_refusals_are_found_in_the_language_and_in_english(language: str) -> None:
    assert "no_refusal" in names_of("answer", REFUSALS[language], language)
    assert "no_refusal" in names_of("answer", "As an AI language model I cannot help with that.", language)


@pytest.mark.parametrize("language", SITUATIONS_TOLD_BACK)
def test_an_answer_that_gives_the_askers_own_situation_as_a_reason_is_told(language: str) -> None:
    assert "no_situation" in names_of("answer", SITUATIONS_TOLD_BACK[language], language)
    assert "no_situation" not in names_of("answer", ANSWERS[language], language)


@pytest.mark.parametrize(
    ("language", "query", "value"),
    [
        ("de", "Seit ich nur GRÜNEN TEE trinke, schlafe ich besser. Was passt dazu?", "grünen_tee"),
        ("ru", "Я пью только Зеленый Чай и сплю лучше. Что мне к нему подать?", "зелёный_чай"),
        ("ja", "毎朝緑茶を飲むようになりました。合うお菓子はありますか。", "毎朝緑茶"),
    ],
)
def test_a_spelled_value_is_found_in_every_script(language: str, query: str, value: str) -> None:
    assert names_of("query", query, language, value) == {"no_copied_value"}


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("de", "Diese Woche war lang und voller Arbeit im Garten hinter dem Haus."),
        ("ru", "Эта неделя была долгой и полной работы в саду за домом."),
        ("en", "When I get home I am tired. My sister, who is older, came with what was left of the cake. I know how it went."),
        ("de", "Wie immer war ich müde. Meine Schwester brachte, was vom Kuchen übrig war."),
        ("es", "Como vivo cerca, llegué a pie. Mi hermana trajo lo que quedaba del pastel."),
        ("it", "Come sempre ero stanco. Mia sorella ha portato quello che restava della torta."),
        ("pt", "Como moro perto, cheguei a pé. Minha irmã trouxe o que sobrou do bolo."),
    ],
)
def test_a_query_without_request_is_told(language: str, query: str) -> None:
    assert names_of("query", query, language) == {"asks"}


# As people type them, without the sign of a question.
PLAIN_REQUESTS = {
    "en": (
        "I only get half an hour with the bassoon these days. what comes first",
        "My wrists ache after the keyboard, how best to practice",
        "We moved the desk to the hall so where does the lamp go",
        "Half an hour a day is all I have - how i split that",
        "I bake on Sundays now. Tell me what goes with rye.",
        "My knees swell in the evening. Is twice a week enough",
    ),
    "zh": ("我现在每天只有半小时练琴，一周该练多少次",),
    "ar": ("عندي نصف ساعة فقط كل يوم، كم مرة أتدرب",),
    "de": ("Ich habe nur eine halbe Stunde am Tag. Was kommt zuerst",),
    "es": ("Solo tengo media hora al día para tocar. Y cómo la reparto",),
    "fr": ("Je n'ai qu'une demi-heure par jour. Alors comment la partager",),
    "hi": ("मेरे पास रोज़ आधा घंटा है, हफ़्ते में कितनी बार करूँ",),
    "it": ("Ho solo mezz'ora al giorno. Allora cosa viene prima",),
    "ja": ("練習は一日半時間だけです。どこから始めるべき",),
    "ko": ("하루에 삼십 분밖에 없는데 어디부터 시작할지",),
    "nl": ("Ik heb maar een half uur per dag. Hoe verdeel ik dat",),
    "pt": ("Só tenho meia hora por dia. Então o que vem primeiro",),
    "ru": ("У меня полчаса в день. С чего начать",),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_without_its_sign_is_a_request(language: str) -> None:
    assert [query for query in PLAIN_REQUESTS[language] if "asks" in names_of("query", query, language)] == []


def generating_prompts() -> Iterable[str]:
    """All prompts whose words are released or shown to an assistant."""
    for name in prompt_names():
        if load_prompt(name).role == "writer" and name.partition("/")[0] in AMEMGYM.stage_names:
            yield name
    yield "evaluation/follow_up"


@pytest.mark.parametrize("name", generating_prompts())
def test_every_prompt_for_words_names_the_recipe_s_language(name: str) -> None:
    # Choosing among values that are there makes no words.
    assert "language" in load_prompt(name).variables or name == "state_trajectory/initial"


def test_a_recipe_takes_each_language_by_its_code() -> None:
    assert [scenario.recipe(language=code).language_name for code in FORMS] == [LANGUAGES[code] for code in FORMS]


DRAFTED: dict[str, dict[str, Any]] = {
    "ja": {
        "question": "今週の夜、どんな運動をすればいいでしょうか。",
        "infos": [("膝の状態", ["痛む", "元気"]), ("夜の時間", ["一時間", "二時間"])],
    },
    "de": {
        "question": "Welchen Sport sollte ich diese Woche am Abend machen?",
        "infos": [("zustand_der_knie", ["schmerzend", "gesund"]), ("freie_abende", ["höchstens_zwei", "fast_alle"])],
    },
}


@pytest.mark.parametrize("language", DRAFTED)
def test_questions_are_drafted_in_the_recipe_s_language_and_sent_back_in_english(language: str) -> None:
    infos = [{"info_type": name, "info_choices": choices} for name, choices in DRAFTED[language]["infos"]]
    asked, english = DRAFTED[language]["question"], "Which sport should I take up in the evenings of this week?"
    first, second = ({"question": text, "required_info": infos} for text in (english, asked))
    model = ScriptedModel({"questions/draft": [{"questions": [first]}], "questions/redraft": [{"q01": first}, {"q01": second}]})
    drafted = run(draft_questions(scenario.profile(), recipe=small_recipe(language=language), model=model))

    assert [(question.text, question.required_info[0].info_type) for question in drafted.questions] == [
        (asked, infos[0]["info_type"])
    ]
    (objection,) = model.objections("questions/redraft")
    assert "write it in the language asked for" in objection
    assert f"Write everything in {LANGUAGES[language]}" in model.requests[0].messages[0].content
