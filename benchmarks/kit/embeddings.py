"""An embedding endpoint on loopback whose latency is part of its address. Run as a program, it is a process of its own.

Vectors depend on the text alone. They are rendered once, so that the endpoint costs little beside what is measured.
"""

from __future__ import annotations

import asyncio
import random
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

DIMENSION: Final = 768
MODEL: Final = "deterministic"
DISTINCT: Final = 64


@asynccontextmanager
async def endpoint() -> AsyncIterator[Endpoint]:
    """Run the endpoint in a process of its own; it ends with the block, and with this process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the endpoint was started without pipes")
        port = int(await asyncio.wait_for(process.stdout.readline(), 30))
        yield Endpoint(port)
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 10)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Endpoint:
    """Addresses of the running endpoint."""

    def __init__(self, port: int) -> None:
        """Take the endpoint on this port of loopback."""
        self._port = port

    def url(self, latency_ms: int) -> str:
        """Return the base URL under which every answer takes `latency_ms` milliseconds."""
        return f"http://127.0.0.1:{self._port}/{latency_ms}"


def _rendered() -> list[str]:
    """Render the vectors once."""
    source = random.Random(0)
    vectors = ([source.uniform(-1.0, 1.0) for _ in range(DIMENSION)] for _ in range(DISTINCT))
    return ["[" + ",".join(f"{value:.5f}" for value in vector) + "]" for vector in vectors]


async def _serve() -> None:
    rendered = _rendered()

    async def answer(request: web.Request) -> web.Response:
        given = (await request.json())["input"]
        texts = [given] if isinstance(given, str) else given
        await asyncio.sleep(int(request.match_info["latency"]) / 1000)
        data = ",".join(
            f'{{"object":"embedding","index":{index},"embedding":{rendered[zlib.crc32(text.encode()) % DISTINCT]}}}'
            for index, text in enumerate(texts)
        )
        return web.Response(
            body=f'{{"object":"list","model":"{MODEL}","data":[{data}]}}'.encode(), content_type="application/json"
        )

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post(r"/{latency:\d+}/v1/embeddings", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # ends when whoever started this ends
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve())
