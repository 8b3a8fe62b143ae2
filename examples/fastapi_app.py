"""A web service over the memory: one memory for the process, opened and closed with the application.

    uvicorn --app-dir examples fastapi_app:app

It has no log-in: put it behind something that has one, which also decides who may name which agent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, FastAPI, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from hermes_memory import (
    ConfigurationError,
    DeadlineExceeded,
    HermesMemoryError,
    InvalidInput,
    Memory,
    NotVisible,
    SchemaNotApplied,
    Settings,
    SpoolFull,
    StoreUnavailable,
    View,
    open_memory,
)

STATUS: Final[Mapping[type[HermesMemoryError], int]] = {
    InvalidInput: 422,
    NotVisible: 404,
    SpoolFull: 503,
    DeadlineExceeded: 504,
    StoreUnavailable: 503,
    SchemaNotApplied: 500,
    ConfigurationError: 500,
}
"""What a client can do about an error: mend the request, ask for something else, or try again later."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Hold the memory open while the application runs. It starts at once, with the database down as well."""
    async with open_memory(Settings(), wait=0) as memory:
        app.state.memory = memory
        yield


app = FastAPI(title="A memory for agents", lifespan=lifespan)


@app.exception_handler(HermesMemoryError)
async def refuse(_request: Request, error: Exception) -> JSONResponse:
    """Answer with the status of the nearest kind of error. Messages hold no content, key or address."""
    kind = next((kind for kind in type(error).__mro__ if kind in STATUS), None)
    status = STATUS[kind] if kind else 500
    return JSONResponse({"error": type(error).__name__, "detail": str(error)}, status_code=status)


def opened(request: Request) -> Memory:
    """Return the memory of the application."""
    memory: Memory = request.app.state.memory
    return memory


def desk_of(agent: str, memory: Annotated[Memory, Depends(opened)]) -> View:
    """Return an agent's view. It costs nothing: each request makes its own."""
    return memory.view(agent)


class Note(BaseModel):
    """What is to be remembered."""

    content: str
    at: datetime | None = None


class Found(BaseModel):
    """A memory that answers a question."""

    id: UUID
    content: str
    score: float


@app.post("/agents/{agent}/memories", status_code=201)
async def remember(note: Note, desk: Annotated[View, Depends(desk_of)]) -> UUID:
    """Remember something for an agent."""
    return (await desk.remember(note.content, at=note.at)).id


@app.get("/agents/{agent}/memories")
async def recall(
    question: str, desk: Annotated[View, Depends(desk_of)], limit: Annotated[int, Query(ge=1, le=50)] = 5
) -> list[Found]:
    """Find what answers a question, best first."""
    result = await desk.recall(question, limit=limit)
    return [Found(id=hit.id, content=hit.content, score=hit.score) for hit in result.hits]


@app.delete("/agents/{agent}/memories/{entry}", status_code=204)
async def forget(entry: UUID, desk: Annotated[View, Depends(desk_of)]) -> None:
    """Forget a memory."""
    await desk.forget(entry)


@app.get("/health")
async def health(memory: Annotated[Memory, Depends(opened)]) -> dict[str, list[str]]:
    """Tell what is wrong, without asking the database."""
    return {"troubles": [str(trouble) for trouble in memory.troubles]}
