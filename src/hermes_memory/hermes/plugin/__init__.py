"""The package the Hermes host loads: `register` hands the provider over by `ctx.register_memory_provider`.

The host executes this directory by path, under a name of its own, and shows the module to other threads before it is
complete. So nothing is imported up here, everything below is imported absolutely, and no function is named like a
sibling file. A copy of this directory serves as the shim in `$HERMES_HOME/plugins/hermes-memory/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Protocol

    class RegistrationContext(Protocol):
        """The part of the host's registration context that a memory provider needs."""

        def register_memory_provider(self, provider: Any) -> None:
            """Take the provider instance."""


def register(ctx: RegistrationContext) -> None:
    """Register one provider instance with the host.

    When the library cannot be imported, a provider that is not available and says why is registered in its place.
    Registering comes last: a host may throw the instance away if anything is raised after it.
    """
    ctx.register_memory_provider(_make_provider())


def _make_provider() -> Any:
    # What importing a missing, shadowed or half-upgraded installation raises.
    broken = (ImportError, AttributeError, NameError, TypeError, ValueError, SyntaxError, RuntimeError, OSError)
    try:
        from hermes_memory.hermes.provider import HermesMemoryProvider  # noqa: PLC0415

        return HermesMemoryProvider()
    except broken as error:
        return _make_unavailable(error)


def _make_unavailable(error: BaseException) -> Any:
    import importlib  # noqa: PLC0415
    import logging  # noqa: PLC0415
    import sys  # noqa: PLC0415

    logging.getLogger(__name__).warning(
        "the memory library cannot be imported", extra={"action": "plugin.unavailable"}, exc_info=error
    )
    reason = (
        f"hermes_memory cannot be imported by {sys.executable}: {type(error).__name__}: {error}. "
        f"Install it there: {sys.executable} -m pip install hermes-memory-postgres"
    )
    try:
        base = importlib.import_module("agent.memory_provider").MemoryProvider
    except ImportError:
        base = object
    namespace: dict[str, Any] = {
        "__doc__": "Stands in for the memory while its library cannot be imported.",
        "name": "hermes-memory",
        "is_available": lambda _self: False,
        "unavailable_reason": lambda _self: reason,
        "initialize": lambda _self, _session_id="", **_kwargs: None,
        "get_tool_schemas": lambda _self: [],
        "get_config_schema": lambda _self: [],
        "get_status_config": lambda _self, _config=None: {"problem": reason},
        "shutdown": lambda _self: None,
    }
    return type("UnavailableMemory", (base,), namespace)()
