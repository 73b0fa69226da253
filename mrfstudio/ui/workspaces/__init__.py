"""One folder a workspace, with the panels that only it uses; `shared/` holds what several use."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign
    from mrfstudio.ui.workspaces.shared.view import WorkspaceView

SHARED = "shared"

log = logging.getLogger(__name__)


def signs() -> tuple[WorkspaceSign, ...]:
    """Every workspace of the window in the order of the rail: those in folders here, and those of other packages.

    Others come by entry points of the group `mrfstudio.workspaces`, whose value is a package with the modules `sign`
    and `view`, like the folders here.
    """
    return tuple(sorted((sign for sign, _ in _packages().values()), key=lambda sign: (sign.order, sign.name)))


def view_class(name: str) -> type[WorkspaceView]:
    """The view of a workspace, imported when first asked for: six of them would keep the window from showing."""
    from mrfstudio.ui.workspaces.shared.view import VIEWS

    importlib.import_module(f"{_packages()[name][1]}.view")
    return VIEWS[name]


@cache
def _packages() -> dict[str, tuple[WorkspaceSign, str]]:
    """The sign and the package of each workspace, by name."""
    found: dict[str, tuple[WorkspaceSign, str]] = {}
    for folder in pkgutil.iter_modules(__path__):
        if folder.ispkg and folder.name != SHARED:
            _add(found, f"{__name__}.{folder.name}")
    for entry in entry_points(group="mrfstudio.workspaces"):
        try:  # what somebody else wrote must not keep the window from opening
            importlib.import_module(f"{entry.value}.view")
            _add(found, entry.value)
        except Exception as problem:
            log.warning("The workspace %r of another package was left out: %r", entry.name, problem)
    return found


def _add(found: dict[str, tuple[WorkspaceSign, str]], package: str) -> None:
    sign: WorkspaceSign = importlib.import_module(f"{package}.sign").SIGN
    found[sign.name] = (sign, package)
