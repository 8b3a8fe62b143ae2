"""`sslmode=verify-full`: the memory talks to the server whose authority it was given, by its name, and to no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.domain.errors import HermesMemoryError, StoreUnavailable
from tests.support.postgres_store import Installation
from tests.support.tls import make_authority, make_certificate, tls_door


async def _asked(dsn: str) -> object:
    pool = Pool(dsn, max_size=1, connect_timeout=30)
    try:
        async with pool.transaction(None, timeout=60, read_only=True) as transaction:
            return await transaction.fetch_value("select current_user::text")
    finally:
        await pool.close()


async def test_only_a_server_with_the_right_authority_and_name_is_talked_to(
    database: Installation, tmp_path: Path
) -> None:
    ours, theirs = (make_authority(tmp_path, name) for name in ("ours", "theirs"))
    certificate = make_certificate(ours, "localhost")

    def address(host: str, port: int, authority: Path) -> str:
        return (
            f"postgresql://{database.role}@{host}:{port}/{database.database}"
            f"?sslmode=verify-full&sslrootcert={authority}"
        )

    async with (
        tls_door(database.admin_dsn, certificate) as port,
        tls_door(database.admin_dsn, None) as plain,
    ):
        assert await _asked(address("localhost", port, ours)) == database.role
        for dsn in (
            address("localhost", port, theirs),
            address("127.0.0.1", port, ours),
            address("localhost", plain, ours),
        ):
            with pytest.raises(HermesMemoryError) as refusal:
                await _asked(dsn)
            assert database.role not in str(refusal.value)
            assert str(tmp_path) not in str(refusal.value)


async def test_a_certificate_that_is_not_trusted_is_an_obstacle_that_may_pass(
    database: Installation, tmp_path: Path
) -> None:
    ours, theirs = (make_authority(tmp_path, name) for name in ("ours", "theirs"))
    async with tls_door(database.admin_dsn, make_certificate(ours, "localhost")) as port:
        address = f"postgresql://{database.role}@localhost:{port}/{database.database}?sslmode=verify-full&sslrootcert="
        with pytest.raises(StoreUnavailable, match=r"cannot be reached \(SSLCertVerificationError\)"):
            await _asked(f"{address}{theirs}")
        with pytest.raises(StoreUnavailable, match=r"cannot be reached \(SSLCertVerificationError\)"):
            async with administrator(f"{address}{theirs}"):
                pass
