"""What the sources of an import ask for."""

from __future__ import annotations

import pytest
from tests.support.tables import for_each

from hermes_memory.cli.exits import USAGE
from hermes_memory.cli.main import command_parser
from hermes_memory.domain.identity import HOST_WORKSPACE


@for_each("source", ["mem0", "tablestore", "holographic", "markdown"])
def test_a_file_may_be_told_whose_it_becomes_where_it_names_no_agent(source: str) -> None:
    told = command_parser().parse_args(["import", source, "a-file", "--theme", "marketing"])
    untold = command_parser().parse_args(["import", source, "a-file"])

    assert (told.theme, untold.theme) == ("marketing", HOST_WORKSPACE)


def test_a_database_whose_rows_all_name_their_agent_takes_no_theme(capsys: pytest.CaptureFixture[str]) -> None:
    given = command_parser().parse_args(["import", "pgvector", "--dsn", "postgresql://reader@db/old"])
    with pytest.raises(SystemExit) as end:
        command_parser().parse_args(["import", "pgvector", "--dsn", "postgresql://reader@db/old", "--theme", "desk"])

    assert given.theme == HOST_WORKSPACE
    assert end.value.code == USAGE
    assert "--theme" in capsys.readouterr().err
