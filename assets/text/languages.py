"""The languages that texts may be in: their names in prompts, and what tells apart their scripts, requests and refusals.

A language lacks a pattern where no short one would do, such as that of the first person where verbs alone say it. What needs
the pattern is then not checked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh", "ar", "de", "es", "fr", "hi", "it", "ja", "ko", "nl", "pt", "ru"]
LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "zh": "Simplified Chinese",
    "ar": "Arabic",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pt": "Portuguese",
    "ru": "Russian",
}
LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f"
HAN = "\u3400-\u4dbf\u4e00-\u9fff"


# Where a sentence begins in languages of Latin letters, behind words that join it to the one before.
JOINED = "and|so|but|ok(?:ay)?|also|or|then|und|aber|oder|also|y|pero|entonces|et|mais|alors|e|ma|allora|en|maar|dus|mas|então"
BEGINNING = rf"(?:^|[.!;:…]\s+|\n|\s[-–—]+\s)(?:(?:{JOINED}),?\s+)*"
# An English question without its sign: a clause that begins as questions do, or "which heater is".
VERB = "do|does|did|can|could|should|would|will|is|are"
WHOEVER = "i|we|you|it|he|she|they|there|the|an?|my|this|that|these|those"
PLAIN_QUESTION = (
    rf"(?:{BEGINNING}|,\s+)(?:how (?!(?:{WHOEVER})\b)[a-z]+|any(?:thing|body|one)?)\b"
    rf"|(?:{BEGINNING}|,\s+)(?:what (?:comes|goes|works|helps)|(?:{VERB}) (?:{WHOEVER}))\b"
    rf"|{BEGINNING}(?:why|how|which|worth [a-z]+|(?:is|are|does) [a-z]+|what (?!(?:{WHOEVER})\b)[a-z]+)\b"
    rf"|{BEGINNING}(?:what|where|when|who)(?:'s| to| else| next| first| best| (?:{VERB}))\b"
    rf"|\bso (?:how|what|where|which|why)\b|\b(?:and|but) (?:how|what|which) (?!(?:{WHOEVER}|{VERB})\b)[a-z]+"
    rf"|\b(?:what|which|whose) (?!(?:{WHOEVER}|{VERB}|his|her|our|their)\b)[a-z]+ (?:[a-z]+ )?(?:{VERB})\b"
)


@dataclass(frozen=True)
class LanguageForms:
    """Patterns of one language; `script` is a class of letters, `common` the words by which it is told from its neighbours.

    `never`: letters that show another language of the same script; `always`: letters of which a longer text has some;
    `task_talk`: a model's remark to whoever asked it, or words that name an answer as the right one. `tells_asker`: clauses
    that give the situation of whoever asks as a reason. `degrees`: words, folded, that say how much of something there is.
    `absence`: words of a value by which something is not so, or goes on as always.
    """

    script: str
    common: frozenset[str] = frozenset()
    degrees: frozenset[str] = frozenset()
    absence: re.Pattern[str] | None = None
    never: str = ""
    always: str = ""
    first_person: re.Pattern[str] | None = None
    request: re.Pattern[str] | None = None
    refusal: re.Pattern[str] | None = None
    hedge: re.Pattern[str] | None = None
    tells_asker: re.Pattern[str] | None = None
    task_talk: re.Pattern[str] | None = None


def _words(alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)


def _asks(alternatives: str, first: str) -> re.Pattern[str]:
    """Find the sign of a question, the words of a request, or a sentence whose `first` words are those of a question."""
    return re.compile(rf"[?？؟]|\b(?:{alternatives})\b|{BEGINNING}(?:{first})\b", re.IGNORECASE)


def _parts(alternatives: str) -> re.Pattern[str]:
    """Of languages that join endings to words, or write no spaces."""
    return re.compile(alternatives, re.IGNORECASE)


def _remarks(*, agreement: str, here: str, nouns: str, verdict: str) -> re.Pattern[str]:
    """Find "Sure, here ...", "Here is the answer", "Answer: ..." at the beginning, and a verdict on an answer anywhere."""
    agreed = rf"(?:{agreement})[,.!:，！。：、\s]+"
    beginning = rf"{agreed}(?:{here})|(?:{here})[\s:]*(?:[\w']+ ){{0,4}}(?:{nouns})|(?:{nouns})\s*[:：]"
    return re.compile(rf"^\W*(?:{beginning})|{verdict}", re.IGNORECASE)


def _sentences(anywhere: str, at_the_beginning: str) -> re.Pattern[str]:
    """Find the words anywhere, or others at the beginning of a sentence."""
    return re.compile(rf"\b(?:{anywhere})\b|(?:^|[.!?;]\s+)(?:{at_the_beginning})\b", re.IGNORECASE)


def _reasons(conjunctions: str, askers: str) -> re.Pattern[str]:
    """Find "since you ...", which gives the situation of whoever asks as a reason."""
    return _words(f"(?:{conjunctions}) (?:{askers})")


def _common(words: str) -> frozenset[str]:
    return frozenset(words.split())


FORMS: Mapping[str, LanguageForms] = {
    "en": LanguageForms(
        LATIN,
        _common(
            "the a an and or of to in on is are was were i my me you your it its that this for with at be have has do does "
            "what how should when where which can could would not so if from by as but before after until while each every "
            "then them they"
        ),
        degrees=_common(
            "low lower medium moderate mid middle average high higher very extremely somewhat slightly little much "
            "some none no few many minimal maximal limited extensive small large big short long weak strong mild "
            "severe poor fair good bad great basic optimal normal rare rarely seldom sometime often frequent "
            "infrequent never always significant significantly lot slight enough sufficient regular irregular sparse "
            "minor major intense adequate excellent not too more less most least"
        ),
        absence=re.compile(
            r"\b(?:no|not|none|nothing|nobody|never|nowhere|neither|without|usual|same|unchanged|normal|as always)\b"
            r"|\b(?:works(?: fine| well)?|working order|as before|something else)$|^others?$",
            re.IGNORECASE,
        ),
        first_person=_words("i|me|my|mine|myself|we|us|our|ours"),
        request=re.compile(
            r"\?|(?:^|[.!:;]\s+)(?!(?:for|to|with|of|on|at|by|from|like|about|it|that)\b)[a-z]+ (?:me|us)\b"
            rf"|{PLAIN_QUESTION}"
            r"|\b(?:please|help|suggest(?:ions?)?|recommend(?:ations?)?|advise|explain|tell me|give me|show me|find me"
            r"|let me know|advice|ideas?|tips?|need|looking for|wonder(?:ing)?|plan|write|compare|list|draft|want to know"
            r"|walk me|talk me|teach me|could use|put together|outline|sketch"
            r"|(?:i|we)(?:'d| would) (?:like|love|appreciate|be (?:glad|grateful)))\b",
            re.IGNORECASE,
        ),
        refusal=re.compile(
            r"\bas an? (?:ai|artificial|language model)|\blanguage model\b|\bi(?:'m| am)(?: very| so)? sorry\b"
            r"|\bsorry,? (?:but )?i\b|\bi'm (?:unable|not able) to\b"
            r"|\bi (?:cannot|can't|can not|am unable to|am not able to|won't) (?:help|assist|provide|answer|give|offer|advise)",
            re.IGNORECASE,
        ),
        hedge=re.compile(
            r"\b(?:it|this|that|the answer|much) (?:all |really )?depends\b|\bdepending on (?:your|whether|which|what you)"
            r"|\bwithout (?:knowing|more (?:information|details|context))|\bwhichever (?:applies|fits)\b|\bif not, then\b"
            r"|\bhard to say\b",
            re.IGNORECASE,
        ),
        tells_asker=_sentences(
            "(?:since|because|given that|seeing (?:that|as)|now that|considering) (?:both of )?(?:your?|nobody|no one)"
            "|(?<!soon )(?<!long )(?<!far )as (?:you(?:'re|'ve| are| have| own| live| work| already| no longer)|nobody|no one)",
            "both of you|you(?:'re|'ve| are| have(?! to)| own| live| work| already)",
        ),
        task_talk=_remarks(
            agreement="sure|certainly|of course|absolutely|okay|ok|great",
            here="here(?:'s| is| are)|i(?:'ll| will) (?:write|give|answer)",
            nouns="answers?|questions?|query|queries|messages?|utterances?|summary|texts?|reply|responses?|versions?",
            verdict="(?:this|that|it|which) is the (?:right|correct) (?:answer|option|choice|one)"
            "|the (?:correct|wrong) (?:answer|option)",
        ),
    ),
    "zh": LanguageForms(
        HAN,
        degrees=frozenset("低中高等度很较非常极少多无大小长短弱强轻重差好坏程"),
        never="ぁ-ヿ가-힣",
        first_person=_parts("[我咱俺]"),
        request=_parts("[?？吗呢请帮]|怎么|如何|什么|哪|多少|几[个次天点]|能不能|要不要|该不该|是不是|建议|推荐|想知道"),
        refusal=_parts("作为(?:一个|一名)?(?:AI|人工智能|语言模型)|抱歉|对不起|无法(?:提供|回答|帮助|给出)"),
        hedge=_parts("取决于|视情况|要看(?:您|你)|因人而异"),
        tells_asker=_parts("(?:因为|由于|既然|鉴于)(?:您|你)|(?:您|你)(?:已经|目前|现在)(?:有|是|没有)"),
        task_talk=_remarks(
            agreement="当然|好的|没问题",
            here="以下是?|下面是?|这是",
            nouns="回答|答案|问题|摘要",
            verdict="正确(?:答案|选项)|错误(?:答案|选项)",
        ),
    ),
    "ar": LanguageForms(
        "\u0621-\u064a\u066e-\u06d3",
        never="پچژگ",
        request=_parts("[?؟]|هل |كيف |ماذا |ما هي |ما هو |أين |متى |كم |لماذا |بماذا |أي |من فضلك|أرجو|أريد|ساعد|اقترح|انصح"),
        refusal=_parts("ذكاء اصطناعي|نموذج لغوي|آسف|عذرا|عذرًا|لا (?:أستطيع|يمكنني) (?:المساعدة|تقديم|الإجابة)"),
        hedge=_parts("يعتمد (?:ذلك |الأمر )?على|حسب (?:وضعك|ظروفك)"),
        tells_asker=_parts("(?:لأنك|بما أنك|طالما أنك|نظر[اً]+ لأنك)"),
        task_talk=_remarks(
            agreement="بالتأكيد|بالطبع",
            here="إليك|هذا|هذه",
            nouns="الإجابة|السؤال|الملخص|إجابة|سؤال",
            verdict="الإجابة الصحيحة",
        ),
    ),
    "de": LanguageForms(
        LATIN,
        _common(
            "und der die das den dem des ist sind nicht ich ein eine einen zu mit auf für sich es von wie auch mein meine "
            "meinem bei wenn oder noch im am an nur jeden du dir dein deine was welche welcher welches womit mir sie beim soll "
            "kann"
        ),
        absence=_words(
            "kein(?:e[mnrs]?)?|nicht|nichts|nie|niemand|niemals|ohne|üblich\\w*|normal\\w*|wie immer|unverändert\\w*"
        ),
        first_person=_words("ich|mich|mir|mein(?:e[mnrs]?)?|wir|uns|unser(?:e[mnrs]?)?"),
        request=_asks(
            "bitte|hilf|hilfst|helfen|hilfe|empfiehl|empfehl\\w*|rate|rat|raten|ratschl\\w+|vorschlag|vorschläge|schlag|ideen?|tipps?"
            "|erklär\\w*|zeig|schreib|vergleich\\w*|plan|brauche|suche|nenn|sag mir|möchte wissen",
            "was|wie(?! immer)|wo|wann|wer|wo(?:mit|ran|rauf|hin)|warum|wieso|welche[mnrs]?|lohnt|(?:soll|kann|muss) ich",
        ),
        refusal=_parts(
            r"\bals (?:ki|künstliche intelligenz|sprachmodell)|\bsprachmodell\b|\btut mir (?:sehr )?leid\b"
            r"|\bich kann (?:\w+ ){0,2}(?:nicht|keine \w+) (?:helfen|beantworten|geben|beraten)"
        ),
        hedge=_parts(
            r"\b(?:es|das) (?:hängt|kommt) (?:ganz )?(?:davon ab|darauf an)|\bje nachdem\b|\bschwer zu sagen\b"
            r"|\bohne (?:mehr|nähere|weitere) (?:informationen|angaben|einzelheiten)"
        ),
        tells_asker=_reasons("da|weil|nachdem", r"(?:du|sie|ihr|niemand|dein\w*|ihre?\w*)"),
        task_talk=_remarks(
            agreement="natürlich|gerne?|klar|selbstverständlich",
            here="hier (?:ist|sind|kommt)",
            nouns="antwort|frage|nachricht|zusammenfassung|text",
            verdict="die (?:richtige|korrekte|falsche) antwort",
        ),
    ),
    "es": LanguageForms(
        LATIN,
        _common(
            "el la los las de que y en un una es son por con para mi mis se lo como más su pero está al del qué no tu te si "
            "cómo cuál dónde cuándo me"
        ),
        absence=_words("no|nada|nadie|nunca|ningun[oa]?|ningún|sin|habitual|normal|igual|como siempre"),
        first_person=_words(
            "yo|me|mi|mis|mío|mía|conmigo|nosotros|nos|nuestr[oa]s?|quiero|necesito|tengo|puedo|busco|debo|estoy|soy|voy|he"
        ),
        request=_asks(
            "por favor|ayuda|ayúdame|ayudarme|recomi\\w+|sugier\\w+|aconsej\\w+|explica\\w*|dime|dame|consejos?|ideas?|necesito"
            "|busco|quiero saber|escribe|compara",
            "qué|(?:que|como) (?:hago|puedo|debo|se)|cómo|cu[aá]l(?:es)?|cuánt[oa]s?|dónde|cuándo|por qué|vale la pena",
        ),
        refusal=_parts(
            r"\bcomo (?:ia|inteligencia artificial|modelo de lenguaje)|\bmodelo de lenguaje\b|\blo siento\b"
            r"|\bno puedo (?:ayudar|responder|dar|ofrecer|aconsejar)"
        ),
        hedge=_parts(r"\b(?:eso |todo )?depende de (?:tu|si|lo que|cómo)|\bdifícil de decir\b|\bsin más datos\b"),
        tells_asker=_reasons("ya que|puesto que|dado que|porque|ahora que", "tienes?|eres|vives?|trabajas?|estás?|nadie"),
        task_talk=_remarks(
            agreement="claro|por supuesto",
            here="aquí (?:está|tienes?|va)",
            nouns="respuesta|pregunta|mensaje|resumen|texto",
            verdict="la (?:respuesta|opción) (?:correcta|incorrecta)",
        ),
    ),
    "fr": LanguageForms(
        LATIN,
        _common(
            "le la les des est et un une que je pas pour dans qui sur mon ma mes au à avec ce plus vous il du en tu ton tes "
            "comment quel quelle quels quelles me où"
        ),
        absence=_words("pas|aucune?|rien|jamais|sans|habituel\\w*|normal\\w*|inchangé\\w*|comme toujours"),
        first_person=_parts(r"\b(?:je|me|moi|mon|ma|mes|nous|notre|nos)\b|\b[jm]['’]"),
        request=_asks(
            "s'il (?:te|vous) plaît|aide\\w*|conseil\\w*|recommand\\w+|suggér\\w+|propos\\w+|expliqu\\w+|dis-moi|donne\\w*"
            "|idées?|besoin|cherche|voudrais savoir|écri\\w+|compar\\w+",
            "comment|quel(?:le)?s?|où|pourquoi|combien|que faire|qu'est-ce|est-ce|(?:dois|puis)-je|vaut-il",
        ),
        refusal=_parts(
            r"\ben tant qu['’](?:ia|intelligence artificielle|assistant|modèle)|\bmodèle de langage\b|\b(?:je suis )?désolée?\b"
            r"|\bje ne (?:peux|suis) pas (?:en mesure d['’e]|t['’]aider|vous aider|répondre|donner)"
        ),
        hedge=_parts(
            r"\b(?:cela|ça|tout) dépend\b|\bselon (?:ta|ton|votre) situation|\bdifficile à dire\b|\bsans (?:plus|savoir)\b"
        ),
        tells_asker=_reasons("puisque|parce que|maintenant que|vu que", "tu|vous|ton|ta|tes|votre|vos|personne"),
        task_talk=_remarks(
            agreement="bien sûr|certainement",
            here="voici",
            nouns="réponse|question|message|résumé|texte",
            verdict="la (?:bonne|mauvaise) réponse|l['’]option correcte",
        ),
    ),
    "hi": LanguageForms(
        "\u0900-\u0963\u0966-\u097f",
        first_person=_parts("मैं|मैने|मैंने|मुझ|मेर[ाीे]|हम|हमार"),
        request=_parts("[?？]|क्या|कैसे|कौन|कितन|किस|कब|कहाँ|कृपया|मदद|सुझ|बता|सलाह|चाहिए"),
        refusal=_parts("एआई|भाषा मॉडल|क्षमा करें|माफ़ कीजिए|मदद नहीं कर सकत"),
        hedge=_parts("पर निर्भर कर"),
        tells_asker=_parts("(?:क्योंकि|चूंकि|चूँकि) (?:आप|तुम)"),
        task_talk=_remarks(
            agreement="ज़रूर|बिल्कुल",
            here="यह रहा|यहाँ",
            nouns="उत्तर|प्रश्न|सारांश",
            verdict="सही (?:उत्तर|विकल्प)",
        ),
    ),
    "it": LanguageForms(
        LATIN,
        _common(
            "il lo che di e la per un una non con mi sono del della le gli come ma più anche nel dei alla ogni tuo tua se al "
            "quale quali dove quando da"
        ),
        absence=_words("no|non|niente|nulla|nessun[oa]?|mai|senza|solit[oaie]|normal[ei]|come sempre"),
        first_person=_words("io|mi|me|mio|mia|miei|mie|noi|ci|nostr[oaie]|voglio|vorrei|devo|posso|ho|sono|cerco|sto"),
        request=_asks(
            "per favore|aiut\\w+|consigl\\w+|suggeri\\w+|raccomand\\w+|spieg\\w+|dimmi|dammi|idee|idea|bisogno|cerco"
            "|vorrei sapere|scrivi|confronta",
            "come (?:faccio|posso|devo|si)|(?:che )?cosa|quale?|quali|dove|quant[oaie]|vale la pena|conviene",
        ),
        refusal=_parts(
            r"\bcome (?:ia|intelligenza artificiale|modello linguistico)|\bmodello linguistico\b|\bmi dispiace\b"
            r"|\bnon posso (?:aiutar\w+|rispondere|dare|offrire|consigliar\w+)"
        ),
        hedge=_parts(r"\bdipende d(?:a|al|alla|ai|alle|all['’])|\bdifficile (?:da )?dire?\b|\bsenza altre informazioni"),
        tells_asker=_reasons("dato che|visto che|siccome|poiché|perché|ora che", "hai|ha|sei|vivi|vive|lavori|lavora|nessuno"),
        task_talk=_remarks(
            agreement="certo|certamente|naturalmente",
            here="ecco",
            nouns="risposta|domanda|messaggio|riassunto|testo",
            verdict="la (?:risposta|opzione) (?:corretta|giusta|sbagliata)",
        ),
    ),
    "ja": LanguageForms(
        f"{HAN}ぁ-ヿー々",
        never="가-힣",
        always="ぁ-ヿ",
        request=_parts(
            "[?？]|か。|ください|下さい|教えて|ほしい|欲しい|でしょうか|か$|どう(?!も|しても)|どれ|どの|どこ|なぜ|何(?:を|が|から)|知りたい|おすすめ|お勧め|相談|助けて"
        ),
        refusal=_parts("AIとして|人工知能|言語モデル|申し訳(?:ありません|ございません)|お答えできません|お手伝いできません"),
        hedge=_parts("場合によ(?:る|ります)|状況次第|によって異なります|一概には言え"),
        tells_asker=_parts("(?:あなた|貴方)(?:は|が)[^。、]{0,30}(?:ので|から|ため)"),
        task_talk=_remarks(
            agreement="もちろん|承知しました|はい",
            here="以下|こちら",
            nouns="回答|質問|要約",
            verdict="正解(?:は|です)|正しい(?:答え|選択肢)",
        ),
    ),
    "ko": LanguageForms(
        "가-힣ㄱ-ㆎ",
        never="ぁ-ヿ",
        request=_parts(
            "[?？]|주세요|주실|알려|추천|까요|까$|나요|어떻게|무엇|뭐|어느|어떤|언제|어디|얼마|싶어|싶습니다|도와|조언"
        ),
        refusal=_parts("인공지능(?:으로서|이라)|언어 모델|죄송(?:합니다|하지만)|도와드릴 수 없|답변할 수 없"),
        hedge=_parts("에 따라 (?:다릅니다|달라)|상황에 따라"),
        tells_asker=_parts("(?:당신|귀하)(?:은|는|이|가)[^.,]{0,30}(?:니까|므로|기 때문에|아서|어서)"),
        task_talk=_remarks(
            agreement="물론(?:입니다|이죠)?|네",
            here="다음은|여기",
            nouns="답변|질문|요약",
            verdict="정답(?:은|입니다)",
        ),
    ),
    "nl": LanguageForms(
        LATIN,
        _common(
            "de het een en van ik dat op te niet met voor zijn mijn aan er ook als maar wat je jouw om bij naar elke hoe "
            "welke waar wanneer mij me zou kan kun moet"
        ),
        absence=_words("geen|niet|niets|niemand|nooit|zonder|gebruikelijke?|normale?|zoals altijd"),
        first_person=_words("ik|me|mij|mijn|wij|we|ons|onze"),
        request=_asks(
            "alsjeblieft|alstublieft|help|helpen|hulp|raad|advies|adviseer|tips?|suggest\\w+|ideeën|idee|leg uit|zoek|nodig"
            "|vertel|geef|schrijf|vergelijk",
            "wat|hoe|welke?|waar(?:mee|op|om)?|wie|(?:zal|kan|moet|mag) ik|is het",
        ),
        refusal=_parts(
            r"\bals (?:ai|kunstmatige intelligentie|taalmodel)|\btaalmodel\b|\b(?:het )?spijt me\b"
            r"|\bik kan (?:\w+ ){0,2}niet (?:helpen|beantwoorden|geven|adviseren)"
        ),
        hedge=_parts(r"\b(?:het|dat) hangt (?:ervan )?af\b|\bafhankelijk van (?:je|jouw|of)\b|\bmoeilijk te zeggen\b"),
        tells_asker=_reasons("omdat|aangezien|nu|doordat", "je|jij|u|jullie|uw|niemand"),
        task_talk=_remarks(
            agreement="natuurlijk|zeker",
            here="hier (?:is|zijn)",
            nouns="antwoord|vraag|bericht|samenvatting|tekst",
            verdict="het (?:juiste|goede|foute) antwoord",
        ),
    ),
    "pt": LanguageForms(
        LATIN,
        _common(
            "o a os as que de e do da dos das em um uma para com não no na por mais meu minha como você seu sua se ao é "
            "qual quais onde quando minhas meus me"
        ),
        absence=_words("não|nada|ninguém|nunca|nenhuma?|sem|habitual|normal|igual|como sempre"),
        first_person=_words("eu|me|mim|meus?|minhas?|nós|nos|noss[oa]s?|quero|preciso|tenho|posso|busco|devo|estou|sou|vou"),
        request=_asks(
            "por favor|ajud\\w+|recomend\\w+|sugir\\w+|sugest\\w+|conselhos?|aconselh\\w+|expli\\w+|diga|dicas?|ideias?|preciso"
            "|procuro|quero saber|escrev\\w+|compar\\w+",
            "como (?:faço|posso|devo|se)|o que|qual|quais|onde|por que|quant[oa]s?|vale a pena",
        ),
        refusal=_parts(
            r"\bcomo (?:uma? )?(?:ia|inteligência artificial|modelo de linguagem)|\bmodelo de linguagem\b"
            r"|\b(?:sinto muito|desculpe)\b|\bnão posso (?:ajudar|responder|dar|oferecer|aconselhar)"
        ),
        hedge=_parts(r"\b(?:isso |tudo )?depende d(?:e|o|a|os|as) |\bdifícil (?:de )?dizer\b|\bsem mais informações"),
        tells_asker=_reasons(
            "já que|visto que|uma vez que|porque|agora que", "(?:você )?(?:tem|mora|vive|trabalha|está)|ninguém"
        ),
        task_talk=_remarks(
            agreement="claro|com certeza",
            here="aqui está",
            nouns="resposta|pergunta|mensagem|resumo|texto",
            verdict="a (?:resposta|opção) (?:correta|certa|errada)",
        ),
    ),
    "ru": LanguageForms(
        "\u0400-\u052f",
        never="іїєґў",
        absence=_words("не|нет|ничего|никто|никогда|без|обычн\\w*|нормальн\\w*|как всегда"),
        first_person=_words("я|меня|мне|мной|мою|мой|моя|моё|мое|мои|моей|моего|моему|моим|моих|мы|нас|нам|наш\\w*"),
        request=_asks(
            "пожалуйста|помог\\w+|подскаж\\w+|посовет\\w+|порекоменд\\w+|совет\\w*|объясни\\w*|расскаж\\w+|напиши\\w*|идеи|идею"
            "|нужн\\w+|ищу|хочу знать|предлож\\w+|сравни\\w*|как|что|какой|какие|где|когда",
            "сколько|почему|куда|зачем|чем|с чего|стоит ли|можно ли|а как",
        ),
        refusal=_parts(
            r"\bкак (?:ии|искусственный интеллект|языковая модель)|\bязыковая модель\b|\bк сожалению, я\b|\bизвините\b"
            r"|\bя не могу (?:помочь|ответить|дать|предложить)"
        ),
        hedge=_parts(r"\b(?:это |всё |все )?зависит от\b|\bтрудно сказать\b|\bв зависимости от\b"),
        tells_asker=_reasons("так как|поскольку|раз|потому что|теперь,? когда", "ты|вы|у тебя|у вас|твой|твоя|ваш|ваша|никто"),
        task_talk=_remarks(
            agreement="конечно|разумеется",
            here="вот",
            nouns="ответ|вопрос|сообщение|итог|текст",
            verdict="(?:правильный|верный|неправильный) ответ",
        ),
    ),
}


def common_words(language: str) -> frozenset[str]:
    """Return words of the language such as "the"; none of a language that is not known."""
    return FORMS[language].common if language in FORMS else frozenset()
