"""What the snapshot of a scope holds: its index, and where the documents behind it are in the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.memory.disk.reader import Place, Position
from engine.memory.exact.entries import Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pack(
    entries: Entries, position: Position, episodes: str, kept: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of a snapshot.

    Args:
        position: How far the index covers the journal.
        episodes: Name of the table of episodes.
        kept: Name of the table of kept records.
    """
    meta, arrays = entries.dump()
    places = [position.places[episodes][doc_id] for doc_id in entries.doc_ids]
    arrays["place_offset"] = np.array([place.offset for place in places], np.int64)
    arrays["place_length"] = np.array([place.length for place in places], np.int64)
    records = position.places.get(kept, {})
    arrays["kept_id"] = np.array(list(records), np.int64)
    arrays["kept_offset"] = np.array([place.offset for place in records.values()], np.int64)
    arrays["kept_length"] = np.array([place.length for place in records.values()], np.int64)
    head = {"entries": meta, "generation": position.generation, "offset": position.offset}
    return {**head, "next_ids": position.next_ids}, arrays


def unpack(
    entries: Entries, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], episodes: str, kept: str
) -> Position:
    """Fill an empty index from a snapshot, and return how far it covers the journal.

    Args:
        episodes: Name of the table of episodes.
        kept: Name of the table of kept records.

    Raises:
        KeyError, ValueError, TypeError: The snapshot does not fit. The index is half filled then.
    """
    entries.restore(meta["entries"], arrays)
    spans = zip(arrays["place_offset"].tolist(), arrays["place_length"].tolist(), strict=True)
    places = {doc_id: Place(*span) for doc_id, span in zip(entries.doc_ids, spans, strict=True)}
    kept_ids, *kept_spans = (arrays[f"kept_{name}"].tolist() for name in ("id", "offset", "length"))
    records = {n: Place(*span) for n, *span in zip(kept_ids, *kept_spans, strict=True)}
    next_ids = {table: int(number) for table, number in meta["next_ids"].items()}
    return Position(meta["generation"], int(meta["offset"]), {episodes: places, kept: records}, next_ids)
