"""The whole contract of a store adapter in one class.

Example:
    ```python
    import pytest_asyncio

    class TestMyStore(StoreContract):
        @pytest_asyncio.fixture
        async def store(self):
            async with my_empty_store() as opened:
                yield under_test(opened)  # a StoreUnderTest: the ports, and the levers a suite needs
    ```
"""

from __future__ import annotations

from hermes_memory.testing.adding_contract import AddingContract
from hermes_memory.testing.change_contract import RemovingContract, ReplacingContract
from hermes_memory.testing.delivery_contract import DeliveryContract
from hermes_memory.testing.embedding_change_contract import EmbeddingChangeContract
from hermes_memory.testing.embedding_context_contract import EmbeddingContextContract
from hermes_memory.testing.embedding_queue_contract import EmbeddingQueueContract
from hermes_memory.testing.inspector_contract import InspectorContract
from hermes_memory.testing.reading_contract import ReadingContract
from hermes_memory.testing.selecting_contract import SelectingContract
from hermes_memory.testing.text_search_contract import TextSearchContract
from hermes_memory.testing.turn_forgetting_contract import TurnForgettingContract
from hermes_memory.testing.turns_contract import DelegationContract, TurnsContract
from hermes_memory.testing.vector_search_contract import VectorSearchContract
from hermes_memory.testing.visibility_contract import VisibilityContract


class StoreContract(
    DeliveryContract,
    AddingContract,
    SelectingContract,
    ReplacingContract,
    RemovingContract,
    TurnsContract,
    TurnForgettingContract,
    DelegationContract,
    ReadingContract,
    TextSearchContract,
    VectorSearchContract,
    EmbeddingQueueContract,
    EmbeddingChangeContract,
    EmbeddingContextContract,
    InspectorContract,
    VisibilityContract,
):
    """Every promise of the store's ports. A subclass supplies the async fixture `store`: fresh and empty each time."""
