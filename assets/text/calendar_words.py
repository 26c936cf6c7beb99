"""The words for months, weekdays, seasons and holidays of each language, and those that say which time of them is meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Spelled out, because calendar.month_name and strftime follow the locale, and texts are the same on every machine.
MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class CalendarWords:
    """Patterns of one language: `months` from January, `weekdays` from Monday and `seasons` from spring, between spaces.

    `open`: words of a clause that looks ahead, tells of a habit, or means an earlier year. `past`: words of a clause that tells
    what happened; without them every clause does. `at`: words after which a month, season or holiday says when something was;
    without them it always does. `this`: "this" before a season. `holidays`: by name in `calendar_faults.HOLIDAYS`, in English.
    """

    months: str
    weekdays: str
    seasons: str
    open: str
    past: str = ""
    at: str = ""
    this: str = ""
    today: str = ""
    spaced: bool = True  # words stand between spaces
    holidays: Mapping[str, str] = field(default_factory=dict[str, str])  # name in `HOLIDAYS` to pattern


def _single_months(sign: str) -> str:
    """Return the patterns of the first nine months, which are numbers before this sign."""
    return " ".join(rf"(?<!\d){number}{sign}" for number in range(1, 10))


def _past_syllables() -> str:
    """Return the Korean syllables that end in the double s of the past, but for two words of the present and the future."""
    past = [chr(code) for code in range(ord("가"), ord("힣") + 1) if (code - ord("가")) % 28 == 20]
    return "".join(past).replace("있", "").replace("겠", "")


CALENDAR_WORDS: Mapping[str, CalendarWords] = {
    "en": CalendarWords(
        " ".join(MONTHS),
        "Mondays? Tuesdays? Wednesdays? Thursdays? Fridays? Saturdays? Sundays?",
        "spring summer (?:fall|autumn) winter",
        holidays={
            "new_year": "New[ ]Year(?:'s)?(?:[ ](?:Day|Eve))?",
            "valentine": "Valentine's(?:[ ]Day)?",
            "easter": "Easter",
            "memorial": "Memorial[ ]Day",
            "july_4": "(?:the[ ])?(?:Fourth[ ]of[ ]July|4th[ ]of[ ]July|July[ ](?:4th|Fourth)|Independence[ ]Day)",
            "labor": "Labor[ ]Day",
            "halloween": "Halloween",
            "thanksgiving": "Thanksgiving",
            "christmas": "Christmas",
        },
        open=r"will|'ll|won't|going to|plan\w*|hop(?:e|ing)|want|wish|would|like to|next|coming|due|upcoming|if|"
        r"unless|should|could|can|must|might|ready for|every|each|usually|always|often|typically|normally|tend|last|previous|"
        r"ago|years?|once|as a (?:boy|girl|child|kid)|childhood",
        past=r"since|was|were|had|did|been|came|went|got|took|broke|gave|lost|began|left|made|met|told|said|found|bought|sold|"
        r"fell|kept|became|ran|saw|sent|felt|brought|taught|built|quit|cut|put|hit|set|let|shut|hurt|won|paid|spent|held|"
        r"heard|knew|led|lent|rose|sat|slept|spoke|stood|thought|threw|wore|wrote|drove|ate|flew|grew|tore|blew|dug|hung|"
        r"(?!need|feed|seed|speed|weed|breed|bleed|indeed|hundred)\w{2,}ed",
        at=r"in|since|by|during|over|at|on|after|around|from|of|this|all|through|early|late|mid",
        this="this",
        today=r"today(?: is|,)?|it(?:'s| is)",
    ),
    "de": CalendarWords(
        "Januar|Jänner Februar|Feber März April Mai Juni Juli August September Oktober November Dezember",
        "Montags? Dienstags? Mittwochs? Donnerstags? Freitags? (?:Samstag|Sonnabend)s? Sonntags?",
        "Frühling|Frühjahr Sommer Herbst Winter",
        open=r"werd\w+|wird|wirst|will|wollen|möcht\w+|soll\w*|kann|können|plan\w*|hoff\w+|nächst\w+|kommend\w+|bis|vor|wenn|"
        r"falls|jed\w+|immer|meist\w*|oft|gewöhnlich|letzt\w+|vorig\w+|vergangen\w+|vorjahr|jahr\w*|früher|einmal|als kind",
        past=r"seit\w*|hat|habe|haben|hatte\w*|war\w*|wurde\w*|bin|ist|ge\w{2,}[tn]|\w{3,}te[nt]?",
        this=r"diese[nmrs]?",
        today=r"heute(?: ist)?",
    ),
    "es": CalendarWords(
        "enero febrero marzo abril mayo junio julio agosto sep?tiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábados? domingos?",
        "primavera verano otoño invierno",
        open=r"voy|vamos|va a|van a|quier\w+|queremos|quisiera|plane\w+|esper\w+|próxim\w+|que viene|hasta|antes|si|cuando|"
        r"cada|siempre|suel\w+|pued\w+|podría|pasad[oa]|anterior|años?|hace|de niñ[oa]|\w+(?:ré|rá|remos|rán|ría)",
        past=r"desde|he|ha|hemos|han|había|fue|fueron|era|estaba|tuv\w+|hic\w+|\w{2,}(?:ó|é|aron|ieron|amos|imos|aba|ía)",
        this="est[ea]",
        today=r"hoy(?: es)?",
    ),
    "fr": CalendarWords(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundis? mardis? mercredis? jeudis? vendredis? samedis? dimanches?",
        "printemps été automne hiver",
        open=r"vais|va|allons|vont|veux|voudrais|aimerais|prévoi\w+|prévu\w*|espèr\w+|prochain\w*|jusqu\w*|avant|si|quand|"
        r"chaque|tous les|toujours|souvent|peu[xt]|pourrais|dernier|dernière|passée?|précédent\w*|ans?|année\w*|enfant|"
        r"\w{2,}(?:rai|ras|ra|rons|ront|rait)",
        past=r"depuis|ai|a|avons|ont|avais|avait|suis|est|sommes|sont|étais|était|étaient|fut|\w{3,}(?:ais|ait|aient)",
        at=r"en|au|à|dès|depuis|début|fin|mi|cet|ce|de|l'|d'|pour|pendant|le|la",
        this=r"cet?|cette",
        today=r"aujourd'hui(?:,? c'est)?",
    ),
    "it": CalendarWords(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabat[oi] domenic[ah]e?",
        "primavera estate autunno inverno",
        open=r"vogli\w+|vorrei|pens\w+ di|spero|prossim\w+|fino|prima|se|quando|ogni|sempre|di solito|poss\w+|potrei|scors[oa]|"
        r"passat[oa]|precedent\w+|ann[oi]|fa|da bambin[oa]|\w{3,}(?:rò|rai|rà|remo|rete|ranno|rebbe|rei)",
        past=r"da|ho|ha|abbiamo|hanno|sono|è|siamo|era|erano|aveva|\w{2,}(?:avo|ava|evo|eva|ivo|iva|ò)",
        this=r"quest[oa']",
        today=r"oggi(?: è)?",
    ),
    "pt": CalendarWords(
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segundas?(?:-feiras?)? terças?(?:-feiras?)? quartas?(?:-feiras?)? quintas?(?:-feiras?)? sextas?(?:-feiras?)? "
        "sábados? domingos?",
        "primavera verão outono inverno",
        open=r"vou|vai|vamos|vão|quer\w*|gostaria|plane\w+|esper\w+|próxim\w+|que vem|até|antes|se|quando|cada|todo\w*|toda\w*|"
        r"sempre|costum\w+|poss\w+|poderia|passad[oa]|anterior|anos?|há|criança|\w{3,}(?:rei|rá|remos|rão|ria)",
        past=r"desde|tinha|foi|foram|era|estava|tive\w*|fiz|fez|fui|\w{2,}(?:ei|ou|eu|iu|aram|eram|iram|ava|ia)",
        this=r"(?:n?est[ea])",
        today=r"hoje(?: é)?",
    ),
    "nl": CalendarWords(
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "lente|voorjaar zomer herfst|najaar winter",
        open=r"zal|zullen|ga|gaat|gaan|wil|willen|zou|plan\w*|hoop|hopen|volgend\w*|komend\w*|tot|voor|als|wanneer|elk\w*|ieder\w*|"
        r"altijd|meestal|vaak|kan|kunnen|vorig\w*|afgelopen|jaar|jaren|geleden|als kind",
        past=r"sinds|heb|heeft|hebben|had|hadden|was|waren|werd\w*|ben|is|ge\w{2,}[dtn]|\w{3,}(?:te|de|ten|den)",
        this=r"deze|dit",
        today=r"vandaag(?: is het)?",
    ),
    "ru": CalendarWords(
        "январ[ьяе] феврал[ьяе] март[ае]? апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе] август[ае]? сентябр[ьяе] октябр[ьяе] "
        "ноябр[ьяе] декабр[ьяе]",
        "понедельник[аеу]? вторник[аеу]? сред[ауые] четверг[аеу]? пятниц[ауые] суббот[ауые] воскресень[еяю]",
        "весн[аойеуы]+ лет[оаеом]+ осень[юи]? зим[аойеуы]+",
        open=r"буд\w+|хочу|хотим|хотел\w* бы|планир\w+|надею\w*|следующ\w+|предстоящ\w+|до|перед|если|когда|кажд\w+|всегда|"
        r"обычно|часто|мож\w+|прошл\w+|год\w*|лет|назад|в детстве",
        past=r"с|был[аио]?|\w{2,}(?:л|ла|ло|ли|лся|лась|лось|лись)",
        this=r"эт(?:от|ой|им|ом|у)",
        today=r"сегодня",
    ),
    "zh": CalendarWords(
        "(?<![\\d十])(?:1|一)月 (?<![\\d十])(?:2|二)月 (?<![\\d十])(?:3|三)月 (?<![\\d十])(?:4|四)月 (?<![\\d十])(?:5|五)月 "
        "(?<![\\d十])(?:6|六)月 (?<![\\d十])(?:7|七)月 (?<![\\d十])(?:8|八)月 (?<![\\d十])(?:9|九)月 (?:10|(?<!\\d)十)月 "
        "(?:11|十一)月 (?:12|十二)月",
        "(?:星期|周)一 (?:星期|周)二 (?:星期|周)三 (?:星期|周)四 (?:星期|周)五 (?:星期|周)六 (?:星期|周)[日天]",
        "春天|春季 夏天|夏季 秋天|秋季 冬天|冬季",
        open="将|会|要|想|打算|计划|希望|下|到|之前|如果|每|总|常|可以|去年|前年|年前|以前|小时候|\\d{4}年",
        past="了|过|自从|以来|已经",
        this="今年|这个",
        today="今天(?:是)?",
        spaced=False,
    ),
    "ja": CalendarWords(
        f"{_single_months('月')} 10月 11月 12月",
        "月曜 火曜 水曜 木曜 金曜 土曜 日曜",
        "春 夏 秋 冬",
        open="予定|つもり|たい|来|まで|前|なら|たら|毎|いつも|よく|去年|昨年|年前|昔|子供の頃|だろう|でしょう|\\d{4}年",
        past="た[。、]?(?:$|[とらのがけし]|こと|ん)|ました|でした|だった|以来|からずっと",
        this="今年の|この",
        today="今日は?",
        spaced=False,
    ),
    "ko": CalendarWords(
        f"{_single_months('월')} 10월 11월 12월",
        "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
        "봄 여름 가을 겨울",
        open="예정|계획|싶|다음|까지|전에|면|마다|항상|보통|자주|작년|지난|년 전|옛날|어릴|겠|ㄹ 거|을 거|\\d{4}년",
        past=f"[{_past_syllables()}]|부터",
        this="올|이번",
        today="오늘은?",
        spaced=False,
    ),
    "hi": CalendarWords(
        "जनवरी फ़?फरवरी|फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर|सितम्बर अक्टूबर|अक्तूबर नवंबर|नवम्बर दिसंबर|दिसम्बर",
        "सोमवार मंगलवार बुधवार गुरुवार|बृहस्पतिवार शुक्रवार शनिवार रविवार",
        "वसंत|बसंत गर्मियों|गर्मी पतझड़ सर्दियों|सर्दी",
        open="[ूेो]ंगे|ूँगा|ूँगी|ेगा|ेगी|ेंगे|चाहत|योजना|अगल|तक|पहले|अगर|जब|हर|हमेशा|अक्सर|सकत|पिछल|साल|बचपन",
        past="था|थी|थे|गया|गई|गए|हुआ|हुई|किया|लिया|दिया|से",
        this="इस",
        today="आज",
        spaced=False,
    ),
    "ar": CalendarWords(
        "يناير فبراير مارس أبريل|إبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        "الاثنين|الإثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد",
        "الربيع الصيف الخريف الشتاء",
        open="سوف|سأ|سن|سي|ست|أريد|أود|أخطط|آمل|القادم|المقبل|حتى|قبل|إذا|عندما|كل|دائما|دائمًا|عادة|غالبا|الماضي|السنة|"
        "العام|أعوام|سنوات|طفول",
        this="هذا",
        today="اليوم",
        spaced=False,
    ),
}
