"""What the library offers to the tests of those who build on it.

**In-memory adapters** are the real ports without a server. `InMemoryStore` bundles delivery, search, reading, the
embedding queue and the inspector over the same rows; it keeps every promise that the Postgres adapter keeps, and
importing it from here needs no test framework.

**Contract suites** are base classes that say what each port promises. They need `pytest`, `pytest-asyncio` and, for
the visibility rule, `hypothesis`. An adapter of one's own passes when a subclass with one fixture passes:

| Suite | Port |
| --- | --- |
| `testing.store_contract.StoreContract` | all store ports at once |
| `testing.delivery_contract.DeliveryContract` | `DeliveryStore`: order, all or none, exactly once |
| `testing.adding_contract.AddingContract` | `DeliveryStore`: new entries |
| `testing.selecting_contract.SelectingContract` | `DeliveryStore`: which entry is meant |
| `testing.change_contract.ReplacingContract`, `RemovingContract` | `DeliveryStore`: changes |
| `testing.turns_contract.TurnsContract`, `DelegationContract` | `DeliveryStore`: what was said and handed on |
| `testing.reading_contract.ReadingContract` | `Reader` |
| `testing.text_search_contract.TextSearchContract` | `Search.by_text` |
| `testing.text_index_contract.TextIndexContract` | `TextIndex` |
| `testing.vector_search_contract.VectorSearchContract` | `Search.by_vector`, `Search.cosines` |
| `testing.embedding_queue_contract.EmbeddingQueueContract` | `EmbeddingQueue` |
| `testing.embedding_change_contract.EmbeddingChangeContract` | `EmbeddingQueue` when rows change or go |
| `testing.inspector_contract.InspectorContract` | `StoreInspector` |
| `testing.visibility_contract.VisibilityContract` | the visibility rule over all reads and changes |
| `testing.notebooks_contract.NotebooksContract` | `Notebooks` |
| `testing.embedder_contract.EmbedderContract` | `Embedder` |
| `testing.spool_contract.SpoolContract` | `Spool` |
| `testing.leadership_contract.LeadershipContract` | `Leadership` |
| `testing.metrics_contract.MetricsContract` | `Metrics` |
| `testing.spool_machine.SpoolMachine` | `Spool`: random histories against a plain list |

A subclass of the suites of the spool says by a method how to make one. The fixture of the others is called `store`
and yields a `StoreUnderTest`, fresh and empty for every test. To see what a failing assertion compared, call
`pytest.register_assert_rewrite("hermes_memory.testing")` in a conftest before the import.
"""

from __future__ import annotations

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.testing.store_under_test import CONTRACT_GENERATION, StoreUnderTest

__all__ = ["CONTRACT_GENERATION", "InMemoryStore", "StoreUnderTest"]
