"""An embedding endpoint with a latency of one's choice, in a process of its own.

It answers every request after the same time, however many texts it holds, as a server with batching does. The vectors
are ready-made: what is measured is the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from typing import Final

from aiohttp import web

READY: Final = 64
"""Different vectors, handed out in turn."""


def vectors(dimension: int) -> list[str]:
    """Return the JSON of vectors with random directions, their seed fixed."""
    chance = random.Random(7)
    return [json.dumps([round(chance.gauss(0, 1), 8) for _ in range(dimension)]) for _ in range(READY)]


async def serve(dimension: int, latency: float) -> None:
    """Serve the OpenAI shape on a free port of 127.0.0.1, named on stdout, until stdin ends."""
    ready = vectors(dimension)

    async def embed(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        await asyncio.sleep(latency)
        items = (
            f'{{"object":"embedding","index":{place},"embedding":{ready[hash(text) % READY]}}}'
            for place, text in enumerate(texts)
        )
        return web.Response(text=f'{{"object":"list","data":[{",".join(items)}]}}', content_type="application/json")

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/embeddings", embed)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.dimension, chosen.latency))
