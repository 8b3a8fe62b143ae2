"""Which messages say something."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.model import Role
from hermes_memory.domain.noise import LONGEST_NOISE, display_width, is_noise, is_trivial_query, worth_remembering
from hermes_memory.domain.phrases import SPACED_PHRASES, UNSPACED_PHRASES

NOISE = [
    "", "   ", "\n", "ok", "ok ok", "OK.", "Okayyyy", "k", "y", "no", "thanks", "thanks a lot", "Thank you so much!",
    "yes please", "Sounds good.", "got it", "go on", "continue", "Please continue", "Perfect, go ahead.", "lgtm",
    "Looks good to me!", "cool cool cool", "hi", "Hello there!", "hahaha", "lol", "It’s fine", "that's great, thanks",
    "danke", "Danke dir", "Ja, bitte", "alles klar, vielen Dank", "merci", "D'accord, merci beaucoup !", "ca va",
    "s'il vous plaît", "gracias", "sí, por favor", "obrigado", "grazie mille", "bedankt", "dziękuję", "tack så mycket",
    "спасибо", "да спасибо", "Хорошо, продолжай", "дякую", "teşekkürler", "ÇOK TEŞEKKÜR EDERİM", "ευχαριστώ",
    "شكرا جزيلا", "شكراً", "شكرًا", "شكراً لك!", "أهلاً", "حسناً", "عفواً", "نَعَم", "شكرًا جزيلاً",
    "תודה רבה", "धन्यवाद", "जी हाँ", "cảm ơn bạn", "terima kasih", "ขอบคุณครับ",
    "好的", "好的，谢谢！", "嗯嗯好的", "謝謝你", "はい", "はい、お願いします",
    "ありがとうございます。", "네", "감사합니다!", "ㅋㅋㅋ",
    "👍", "👍🏽", "❤️", "👨‍👩‍👧", "🎉🎉🎉", "...", "?!", "---", "。。。", "ok 👍 thanks", "ok_",
    "/help", "/model gpt-5", "/new\n", " /compress now", "!" * 5_000,
]  # fmt: skip

FACTS = [
    "My PIN for the office door is 8841", "Use port 5433, not 5432", "E40213", "42", "5555", "1", "db-prod-07", "v2",
    "x=1", "not ok", "no, use 5433", "no sugar", "yes, Bob will come", "Bob", "Roger", "morning", "go", "stop", "3 May",
    "Go ahead with plan B", "ok but only on Mondays", "👍 for Tuesday", "I see Bob", "thanks, Ana", "hi from Berlin",
    "right-handed", "nein, erst am Freitag", "non, demain", "sí, el martes", "нет, завтра", "hayır, yarın",
    "会议改到周五", "不要辣", "我对花生过敏", "好的，会议改到周五", "会议是对的", "明天见小王",
    "明日休みます", "はい、金曜日です", "내일 쉬어요", "네, 금요일에요", "ครับผมแพ้กุ้ง", "नहीं, कल आना", "لا، غدا الساعة ٥",
    "شكراً، غداً",
    "/tmp is full", "/etc/hosts is wrong", "/home/ana/notes.md", "7/8", "50%", "a+b", "user@example.org", "¿Qué?",
]  # fmt: skip


@for_each("text", NOISE)
def test_small_talk_says_nothing(text: str) -> None:
    assert is_noise(text)
    assert is_trivial_query(text)
    assert not worth_remembering(text, Role.USER)


@for_each("text", FACTS)
def test_a_fact_is_kept_however_short(text: str) -> None:
    assert not is_noise(text)
    assert not is_trivial_query(text)
    assert worth_remembering(text, Role.USER)
    assert worth_remembering(text, Role.ASSISTANT)


def test_a_slash_is_a_command_only_in_the_mouth_of_the_user() -> None:
    assert not worth_remembering("/deploy is the endpoint", Role.USER)
    assert worth_remembering("/deploy is the endpoint", Role.ASSISTANT)
    assert not worth_remembering("You're welcome!", Role.ASSISTANT)


def test_a_floor_counts_columns_so_that_wide_scripts_are_not_at_a_disadvantage() -> None:
    assert display_width("会议改到周五") == 12
    assert display_width("e\u0301a") == 2
    assert not is_noise("会议改到周五", min_width=12)
    assert is_noise("会议改到周五", min_width=13)
    assert is_noise("Use port 5433", min_width=40)
    assert not is_noise("Use port 5433", min_width=0)


def test_a_long_message_is_never_noise() -> None:
    assert not is_noise("ok " * (LONGEST_NOISE // 3 + 1))
    assert is_noise("ok " * 20)


def test_every_listed_phrase_is_recognised_as_it_is_written() -> None:
    phrases = (*SPACED_PHRASES, *UNSPACED_PHRASES)
    missed = [phrase for phrase in phrases if not is_noise(phrase) or not is_noise(f"{phrase.upper()}!")]

    assert missed == []


@given(st.text(max_size=80), st.integers(0, 50))
def test_whoever_adds_a_number_to_a_message_has_said_something(text: str, number: int) -> None:
    assert not is_noise(f"port {number} {text}".strip(), min_width=0)


@for_each("unit", ["ok ", "好", "👍", "!", "a", "ok, ", "\u0301", "'"])
def test_the_cost_grows_with_the_length_and_not_faster(unit: str) -> None:
    assert grows_linearly(on_repeated(partial(is_noise, min_width=40), unit), largest=128_000)
