"""Region graphs of a lane as plain arrays: levels, counting numbers, disagreements and beliefs, for a view of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.inference.regions.on_regions import OnRegions
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.document import frozen
from mrfstudio.engine.workspaces.workspace import LaneView

MOST_REGIONS = 3000
"""Regions of which anything is sent: more cannot be told apart on a screen."""
MOST_ENTRIES = 64
"""Entries of a belief that are sent; those of larger regions are left out."""


def region_pictures(view: LaneView) -> Mapping[str, np.ndarray]:
    """Nothing for algorithms without regions; else, over n regions and m edges (parent, child),

    `region_members` (n, most) int32, variables of each region, -1 where it has fewer; `region_levels` and
    `region_counting` (n,) int32; `region_edges` (m, 2) int32; `region_gaps` (m,) float32, the squared distance of a
    child's belief and what its parent says, whose sum RENN penalises; `region_beliefs` (n, entries) float32, tables
    with the last variable fastest, NaN where a table has fewer entries or too many to send.
    """
    beliefs = getattr(view.state, "log_beliefs", None)
    if not isinstance(view.algorithm, OnRegions) or not isinstance(beliefs, Tensor):
        return {}
    tables = view.algorithm.tables(view.model)
    if len(tables.regions.regions) > MOST_REGIONS:
        return {}
    tables_of = beliefs.detach().exp()
    structure = tables.structure.structural(("region arrays", id(tables)), lambda: _structure(tables))
    return {
        **structure,
        "region_gaps": frozen(_gaps(tables, tables_of)),
        "region_beliefs": frozen(_beliefs(tables, tables_of)),
    }


def _structure(tables: RegionTables) -> dict[str, np.ndarray]:
    regions = tables.regions
    members = np.full((len(regions.regions), max(map(len, regions.regions))), -1, np.int32)
    for number, region in enumerate(regions.regions):
        members[number, : len(region)] = region
    return {
        "region_members": frozen(members),
        "region_levels": frozen(regions.levels.astype(np.int32)),
        "region_counting": frozen(regions.counting.astype(np.int32)),
        "region_edges": frozen(tables.edges.astype(np.int32)),
    }


def _gaps(tables: RegionTables, beliefs: Tensor) -> np.ndarray:
    """Squared disagreement (edges,) of each parent with its child, in the order of messages; beliefs (entries,)."""
    held = beliefs.index_select(-1, tables.of_children.to(beliefs.device))
    squares = (tables.to_children(beliefs) - held).square()
    parts = [block.sum(-1) for block in tables.by_message(squares)]
    return to_host((torch.cat(parts) if parts else squares).float())


def _beliefs(tables: RegionTables, beliefs: Tensor) -> np.ndarray:
    """Tables (regions, widest) of small regions, else NaN; beliefs (entries,)."""
    widest = max((block.entries for block in tables.blocks if block.entries <= MOST_ENTRIES), default=1)
    found = np.full((len(tables.sizes), widest), np.nan, np.float32)
    first = 0
    for block, values in zip(tables.blocks, tables.by_block(beliefs), strict=True):
        if block.entries <= MOST_ENTRIES:
            found[tables.order[first : first + block.count], : block.entries] = to_host(values.float())
        first += block.count
    return found
