"""Phrases that ask rather than tell, in scripts that put no spaces between words.

There a text is taken as pairs of characters, and the pairs of "どのくらいですか" or "为什么" stand in many memories
without any of them answering. What is left of a question is what it asks about. The lists name what only asks, points
or inflects, and no word that means something of its own.
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
_PHRASES: Final = {fold(phrase) for phrase in chain.from_iterable(map(str.split, (_CHINESE, _JAPANESE, _KOREAN)))}
# The longest one that fits is taken out.
_ASKING: Final = re.compile("|".join(map(re.escape, sorted(_PHRASES, key=lambda phrase: (-len(phrase), phrase)))))


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
    for begin, end in chain((found.span() for found in _ASKING.finditer(run)), [(len(run), len(run))]):
        if begin - start == 1:
            yield run[max(start - 1, 0) : begin + 1]
        elif begin > start:
            yield run[start:begin]
        start = end
