"""Numbers as words, the same in every place."""

from __future__ import annotations


def percent(share: float) -> str:
    """A probability in per cent; what is tiny is not nothing."""
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"
