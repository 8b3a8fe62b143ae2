"""What the library offers to the tests of those who build on it.

**A memory in this process**: `open_in_process` opens a whole memory without a server and without a model, for the tests
of code that is handed a `Memory` or a `View`. Everything in it is the real thing but for the rows, which go with it.

**In-memory adapters** are the real ports without a server. `InMemoryStore` bundles delivery, search, reading, the
embedding queue, the generations and the inspector over the same rows; it keeps every promise that the Postgres adapter
keeps, and importing it from here needs no test framework.

**Contract suites** are classes that say what each port promises, one module of this package each. They need `pytest`,
`pytest-asyncio` and, for the visibility rule and the spool, `hypothesis`. An adapter of one's own passes when a
subclass passes that says how to make it; the reference lists the suites. The fixture of those of a store is called
`store` and yields a `StoreUnderTest`, fresh and empty for every test. To see what a failing assertion compared, call
`pytest.register_assert_rewrite("hermes_memory.testing")` in a conftest before the import.
"""

from __future__ import annotations

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.bootstrap.in_process import in_memory_store, open_in_process
from hermes_memory.testing.store_under_test import CONTRACT_GENERATION, StoreUnderTest

__all__ = ["CONTRACT_GENERATION", "InMemoryStore", "StoreUnderTest", "in_memory_store", "open_in_process"]
