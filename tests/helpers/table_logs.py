"""Tables of versions as logs: what their rows come to, one by one."""

from pathlib import Path

from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.paths.log_paths import log_path
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.tables.table_files import TableFile

Edge = tuple[int, int]


def edges_by_version(address: object, batch_rows: int = 3) -> dict[int, set[Edge]]:
    """Edges after each version of a table that changes any: of rows read in small runs."""
    log = UpdateLog(str(address))
    edges: set[Edge] = set()
    found: dict[int, set[Edge]] = {}
    for file in listing_of(log).files:
        for first in range(0, file.rows, batch_rows):
            rows = min(batch_rows, file.rows - first)
            for row in log.read(file.name, first, rows, file.fingerprint).to_pylist():
                edge = row["src"], row["dst"]
                if row.get("op", 1) == 1:
                    edges.add(edge)
                else:
                    edges.remove(edge)
        table_file = TableFile.of_name(file.name)
        assert table_file is not None, f"{file.name} is read as any file of a folder"
        assert Path(log_path(log.addresses, file.name).shown).exists()
        found[table_file.version] = set(edges)
    return found


def check_versions(
    found: dict[int, set[Edge]], whole: dict[int, set[Edge]], begin: int = 0
) -> None:
    """Compare the edges after each version with the rows that the table itself has then."""
    now: set[Edge] = set()
    for version in range(begin, max(whole) + 1):
        now = found.get(version, now)
        assert now == whole[version], f"version {version}"
    assert found.keys() <= whole.keys()
