"""Phrases that ask rather than tell, in scripts that put no spaces between words.

There a text is taken as pairs of characters, and the pairs of "どのくらいですか" or "为什么" stand in many memories
without any of them answering. What is left of a question is what it asks about. The lists name what only asks, points
or inflects, and no word that means something of its own. Words that happen to hold such a phrase, as "ことば" holds
"こと", are listed beside them and stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from hermes_memory.domain.characters import fold

_CHINESE: Final = """
什么时候 为什么 怎么样 怎样 怎么 什么 多少 多久 几个 几点 几天 哪里 哪儿 哪个 哪些 哪一 哪家 哪位 哪种 是谁 谁
如何 是否 有没有 是不是 能不能 可不可以 我们 你们 他们 她们 咱们 自己 这个 那个 这些 那些 这里 那里 一个 一下
应该 可以 需要 已经 还是 或者 以及 因为 所以 但是 如果 关于 请问 告诉我 吗
"""
_JAPANESE: Final = """
でしょうか でしょう ましょうか ましょう ましたか ませんか ませんでした ません ました ますか ます でしたか でした
ですか ですね です ください どのくらい どれくらい どれぐらい どのぐらい いくら いくつ どこ いつ だれ どなた なぜ
どうして どうやって どのように どう どの どれ どちら どんな なに なん 何ですか 何 誰 ばいい がいい という
について に関して から まで より には では とは ので のに この その あの これ それ あれ ここ そこ あそこ
している していた しています された される します しました ている ています てください こと もの
"""
_KOREAN: Final = """
무엇 무슨 언제 어디 어느 어떤 어떻게 누구 누가 얼마나 얼마 몇 왜 입니까 습니까 합니까 됩니까 있습니까 인가요
하나요 되나요 있나요 나요 에서 에게 까지 부터 으로 우리
"""
_CHINESE_WORDS: Final = """
吗啡 研究所 派出所 事务所 交易所 归还 原因 机关 海关
"""
_JAPANESE_WORDS: Final = """
いつも そのまま こころ ことば ことし ことり ことわざ ひとこと まこと ここのか
もの忘れ もの知り もの置き ものづくり ものさし ものがたり ものまね
くだもの たべもの のみもの のりもの かいもの いきもの きもの わすれもの おくりもの つけもの やきもの
食べもの 飲みもの 乗りもの 買いもの 生きもの 忘れもの 贈りもの 編みもの 焼きもの 持ちもの 落としもの
思いつ 追いつ 食いつ なにわ なんば なんきょく からだ からあげ からくり ちから みずから
ぶどう どうぶつ どうろ どうぐ うんどう めんどう こうどう のどが のどを のどの痛み おそれ いくら丼
"""
_KOREAN_WORDS: Final = """
언제나 왜곡 왜란 왜구 왜군 왜소 왜가리 우리말 우리은행 봉우리
"""


def _folded(*lists: str) -> frozenset[str]:
    return frozenset(map(fold, chain.from_iterable(map(str.split, lists))))


_PHRASES: Final = _folded(_CHINESE, _JAPANESE, _KOREAN)
_WORDS: Final = _folded(_CHINESE_WORDS, _JAPANESE_WORDS, _KOREAN_WORDS)
# The longest one that fits is met first, so that a word is not taken for the phrase that it begins with.
_KNOWN: Final = re.compile("|".join(map(re.escape, sorted(_PHRASES | _WORDS, key=lambda known: (-len(known), known)))))


def telling_pieces(run: str) -> Iterator[str]:
    """Yield what is left of a run of characters without what only asks; nothing when all of it does.

    A single character that stays between two phrases tells little by itself and keeps its neighbours.

    Args:
        run: Characters of scripts without spaces, folded.

    Example:
        >>> list(telling_pieces("明天北京的气温是多少")), list(telling_pieces("猫です")), list(telling_pieces("为什么"))
        (['明天北京的气温是'], ['猫で'], [])
    """
    start = 0
    asking = (found.span() for found in _KNOWN.finditer(run) if found[0] not in _WORDS)
    for begin, end in chain(asking, [(len(run), len(run))]):
        if begin - start == 1:
            yield run[max(start - 1, 0) : begin + 1]
        elif begin > start:
            yield run[start:begin]
        start = end
