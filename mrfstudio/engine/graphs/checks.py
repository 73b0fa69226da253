"""What a factor must be like to become part of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrfstudio.engine.protocol.errors import StudioError

MAX_ORDER = (
    24  # numpy and torch tensors stop at 32 and 64 axes; a binary table of order 24 already has 16 million entries
)


class GraphError(StudioError):
    """A graph that cannot be built. The message is one sentence that names the factor or variable."""


def checked_table(position: int, scope: tuple[int, ...], table: np.ndarray, cards: Sequence[int]) -> np.ndarray:
    """The log-table (k_1, …, k_r) of a factor; `cards` are the numbers of states. Raises `GraphError`.

    Its numbers are looked at by `check_numbers`.
    """
    if len(scope) > MAX_ORDER:
        raise GraphError(f"Factor {position} joins {len(scope)} variables: at most {MAX_ORDER} are supported.")
    if len(set(scope)) != len(scope):
        raise GraphError(f"Factor {position} names a variable twice in its scope {scope}.")
    for variable in scope:
        if not 0 <= variable < len(cards):
            raise GraphError(
                f"Factor {position} names variable {variable}: the graph has variables 0 to {len(cards) - 1}."
            )
    shape = tuple([cards[v] for v in scope])
    if table.shape != shape:
        raise GraphError(f"Factor {position} over {scope} has a table of shape {table.shape}: expected {shape}.")
    return table


def check_numbers(positions: Sequence[int], tables: np.ndarray) -> None:
    """Raise `GraphError` if a number of the log-tables (k_1, …, k_r, n) is none, or too large for one."""
    if tables.max() < np.inf:  # NaN is the largest where there is one
        return
    largest = tables.reshape(-1, len(positions)).max(0)
    position = positions[int(np.argmin(largest < np.inf))]
    raise GraphError(
        f"Factor {position} has an entry that is not a number or is infinite: log-tables are finite or -inf."
    )
