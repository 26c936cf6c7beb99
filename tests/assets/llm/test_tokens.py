"""Tokens are estimated as OpenAI's o200k counts them; the true counts here were made with its vocabulary."""

from assets.llm.usage import TOKENS_BEFORE_REPLY, TOKENS_OF_MESSAGE, prompt_tokens
from assets.text.words import count_tokens

# Tokens of o200k, and the text.
ENGLISH = (
    (
        70,
        "You are the user in a long conversation with an assistant. Write the first message of a session, in the first person "
        "and in at most three sentences. Each of the states listed below must follow from what the message tells; none may be "
        "named. Do not mention a state that isn't listed, and end with a request that the assistant can answer.",
    ),
    (
        108,
        '{"questions":[{"question":"How should I plan my evenings this week?","required_info":[{"info_type":"daily_free_time",'
        '"info_choices":["under_one_hour","one_to_two_hours","most_of_the_day"]},{"info_type":"knee_condition","info_choices":'
        '["healthy","sore_on_stairs","recovering_from_surgery"]}]}],"name":"Maren Oduya","profile":"A cartographer of '
        "forty-one who moved to Bergen in 2019; she keeps bees, and doesn't own a car.\"}",
    ),
    (
        80,
        '{"type":"object","properties":{"1":{"type":"object","properties":{"kept":{"type":"boolean"},"reason":{"type":"string"}},'
        '"required":["kept","reason"],"additionalProperties":false},"2":{"type":"object","properties":{"kept":{"type":"boolean"},'
        '"reason":{"type":"string"}},"required":["kept","reason"],"additionalProperties":false}}}',
    ),
    (
        77,
        "period: 3 (2021-04-01 to 2021-06-30)\nstate:\n  home_type: small_apartment\n  commute: bicycle\n  number_of_children: "
        "2\nupdates:\n  - variable: commute\n    old: by_train\n    new: bicycle\n\nSince the flood, the ferry goes twice a "
        "day - early and late.",
    ),
)
CHINESE = (
    (
        64,
        "最近公司把我们组调到了新的办公楼，每天上班要坐一个多小时的地铁。早上出门比以前早了四十分钟，孩子还没醒我就走了。"
        "我想利用路上的时间学点东西，你觉得听播客好还是背单词好？",
    ),
    (
        73,
        '{"questions":[{"question":"我这个周末应该怎么安排孩子的活动？","required_info":[{"info_type":"孩子的年龄","info_choices":'
        '["三岁以下","四到六岁","七岁以上"]},{"info_type":"住处附近的环境","info_choices":["靠近公园","市中心","郊区"]}]}]}',
    ),
    (
        60,
        '{"answer":"您可以前一天晚上准备好便当，用柠檬汁、醋和香草来调味，代替盐和酱油。如果实在没有时间，就在食堂选清蒸的菜，'
        '并请师傅少放调料。"}',
    ),
    (
        43,
        "请根据以下资料写出用户的第一句话。不要直接说出变量的取值，要让读者从细节里看出来。句子要自然，用第一人称，不超过三句话。",
    ),
)


def test_prompts_and_replies_are_counted_within_three_percent_in_english_and_chinese() -> None:
    for counted in (ENGLISH, CHINESE):
        true = sum(tokens for tokens, _ in counted)
        assert abs(sum(count_tokens(text) for _, text in counted) - true) <= 0.03 * true


def test_each_text_is_counted_within_an_eighth() -> None:
    for tokens, text in (*ENGLISH, *CHINESE):
        assert abs(count_tokens(text) - tokens) <= tokens / 8, text


def test_a_prompt_is_billed_with_the_schema_of_its_reply() -> None:
    texts = [text for _, text in ENGLISH[:2]]
    plain = sum(map(count_tokens, texts)) + 2 * TOKENS_OF_MESSAGE + TOKENS_BEFORE_REPLY
    assert prompt_tokens(texts) == plain
    assert prompt_tokens(texts, schema={"type": "object"}) == plain + count_tokens('{"type":"object"}')
