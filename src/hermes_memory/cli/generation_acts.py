"""What `reembed` does beside making vectors: showing the generations, switching back, and dropping one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_memory.cli.common import print_json
from hermes_memory.cli.embedder_lines import configuring_lines, configuring_model
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.cli.generation_lines import standing_line
from hermes_memory.domain.errors import InvalidInput, Outdated
from hermes_memory.settings import Settings

if TYPE_CHECKING:
    from hermes_memory.ports.generations import Generations, GenerationStanding


async def operate(settings: Settings, given: argparse.Namespace, began: float) -> int:
    """Act as things stood when the command began. Others who do the same at once may be quicker.

    Args:
        began: When that was, by the monotonic clock.
    """
    from hermes_memory.application.reembed_progress import Step  # noqa: PLC0415
    from hermes_memory.bootstrap.reembedding import opened_generations  # noqa: PLC0415
    from hermes_memory.cli.progress import shown  # noqa: PLC0415

    async with opened_generations(settings, given.admin_dsn) as generations:
        if given.status:
            return await _status(generations, given)
        since = await generations.moment() - timedelta(seconds=time.monotonic() - began)
        before = await generations.standing()
        meant = _switched_back(before, since) if given.switch_back else None
        with shown(given) as progress:
            async with generations.alone(lambda: progress.begin(Step.WAIT, None)):
                if meant is not None:
                    return await _switch_back(generations, meant, settings, given)
                return await _drop(generations, before, given)


async def _status(generations: Generations, given: argparse.Namespace) -> int:
    standing = await generations.standing()
    if given.as_json:
        print_json({"generations": [_described(each) for each in standing]})
    else:
        for each in standing:
            print(standing_line(each))
    return DONE


def _described(one: GenerationStanding) -> dict[str, Any]:
    from dataclasses import asdict  # noqa: PLC0415

    return {**asdict(one), "coverage": round(one.coverage, 4)}


def _unknown() -> dict[str, None]:
    """Return what is described of a generation of which nothing is known any more."""
    from dataclasses import fields  # noqa: PLC0415

    from hermes_memory.ports.generations import GenerationStanding  # noqa: PLC0415

    return dict.fromkeys((*(field.name for field in fields(GenerationStanding)), "coverage"))


class _Meant(NamedTuple):
    """What is to be used, and what was in use when that was said."""

    one: GenerationStanding
    left: GenerationStanding | None


def _switched_back(standing: Collection[GenerationStanding], since: datetime) -> _Meant:
    """Return what switching back means: to use what was used before.

    One that is not fed any more is passed over: dropping it has begun, and rows that were stored since are not in it.
    Where somebody has switched since then, that is what was meant, and what was left is the one used last.

    Raises:
        InvalidInput: There is none.
    """
    used = sorted((each for each in standing if each.activated_at), key=lambda each: str(each.activated_at))
    active = next((each for each in used if each.active), None)
    others = [each for each in used if not each.active]
    if others and active and active.activated_at and active.activated_at > since:
        return _Meant(active, others[-1])
    earlier = [each for each in others if each.fed]
    if not earlier:
        raise InvalidInput("no other vectors were ever used, or they were dropped: there is nothing to switch back to")
    return _Meant(earlier[-1], active)


async def _switch_back(generations: Generations, meant: _Meant, settings: Settings, given: argparse.Namespace) -> int:
    """Use what was used before. Its rows that wait are found by words until an agent with its model embeds them.

    Raises:
        Outdated: Others have taken something else into use.
    """
    one, left = meant
    active = next((each for each in await generations.standing() if each.active), None)
    done = active is not None and active.generation == one.generation
    if not done and (active and active.term) != (left and left.term):
        number = active.generation if active else None
        raise Outdated(f"another operator took generation {number} into use meanwhile: look at --status first")
    former = (left.generation if left else None) if done else await generations.switch(one.generation)
    configure = configuring_model(settings, one.model, one.dimension, one.part_tokens)
    if given.as_json:
        told = {"active": one.generation, "former": former, "model": one.model, "waiting": one.waiting}
        print_json({**told, "switched": not done, "configure": configure})
        return DONE
    how = "is in use again: somebody else has done it" if done else "is in use again"
    print(f"generation {one.generation} ({one.model}, {one.dimension} dimensions) {how}")
    if one.waiting:
        print(f"{one.waiting:,} rows wait for a vector of it: agents with that model make them")
    for line in configuring_lines(configure):
        print(line)
    return DONE


async def _drop(generations: Generations, before: Collection[GenerationStanding], given: argparse.Namespace) -> int:
    one = _numbered(given.drop, await generations.standing())
    if one is None:
        return await _dropped_already(generations, _numbered(given.drop, before), given)
    if one.active:
        raise InvalidInput(f"embedding generation {given.drop} is in use: use another one first", field="drop")
    if given.execute:
        await generations.drop(one.generation)
    if given.as_json:
        print_json({**_described(one), "dropped": given.execute})
    else:
        print(f"{'dropped' if given.execute else 'would drop'} {standing_line(one)}")
        if not given.execute:
            print("To do it: the same with --execute. There is no way back but to embed everything again.")
    return DONE if given.execute else WORK_REMAINS


async def _dropped_already(generations: Generations, one: GenerationStanding | None, given: argparse.Namespace) -> int:
    """Tell of a generation that there was, and that it is gone as it was to be.

    Args:
        one: As it stood when the command began, None when it was gone by then.

    Raises:
        InvalidInput: There never was such a generation.
    """
    if given.drop > await generations.made():
        raise InvalidInput(f"there is no embedding generation {given.drop}", field="drop")
    if given.as_json:
        told = _described(one) if one else {**_unknown(), "generation": given.drop}
        print_json({**told, "dropped": True})
    elif one:
        print(f"somebody else has dropped {standing_line(one)}")
    else:
        print(f"generation {given.drop} was dropped before: there is nothing to do")
    return DONE


def _numbered(number: int, standing: Collection[GenerationStanding]) -> GenerationStanding | None:
    return next((each for each in standing if each.generation == number), None)
