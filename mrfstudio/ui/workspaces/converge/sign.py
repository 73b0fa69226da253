"""What stands on the door of this workspace."""

from __future__ import annotations

from mrfstudio.engine.protocol.requests.converge import OpenGraph
from mrfstudio.ui.workspaces.converge import actions as own
from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

SIGN = WorkspaceSign(
    "graph",
    "Converge",
    "converge",
    "Pick a graph, turn its couplings, and see whether, when and why belief propagation converges.",
    order=30,
    endings=(".uai", ".fg", ".uai.gz", ".fg.gz", ".bif", ".bif.gz", ".xmlbif", ".xdsl"),
    filter="Graphs and evidence (*.uai *.fg *.uai.gz *.fg.gz *.bif *.bif.gz *.xmlbif *.xdsl *.evid *.evid.gz)",
    opening=lambda path: OpenGraph(str(path), path.name),
    opened_by=(OpenGraph,),
    actions=(("Model", own.SHOW_ARENA),),
)
