"""The local model behind an HTTP address on loopback, for who has no embedder of its own. Run as a program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from hermes_memory.adapters.embedding.local import LOCAL_MODEL, LocalEmbedder

START_SECONDS: Final = 60.0


@asynccontextmanager
async def model_endpoint() -> AsyncIterator[str]:
    """Run the endpoint in a process of its own and hand out its base URL; it ends with the block, or this process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the endpoint was started without pipes")
        port = int(await asyncio.wait_for(process.stdout.readline(), START_SECONDS))
        yield f"http://127.0.0.1:{port}"
        process.stdin.close()
        await asyncio.wait_for(process.wait(), START_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _serve() -> None:
    embedder = LocalEmbedder()
    await embedder.warm_up(timeout=START_SECONDS)

    async def answer(request: web.Request) -> web.Response:
        given = (await request.json())["input"]
        texts = [given] if isinstance(given, str) else given
        vectors = [await embedder.embed_query(text, timeout=START_SECONDS) for text in texts]
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        return web.json_response({"object": "list", "model": LOCAL_MODEL, "data": data})

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/v1/embeddings", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # ends when whoever started this ends
    await runner.cleanup()
    await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(_serve())
