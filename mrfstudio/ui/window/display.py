"""Whether a window could be seen here. Qt ends the program without a word where it could not."""

from __future__ import annotations

import ctypes
import os
import sys

from mrfstudio.engine.protocol.errors import StudioError


def has_display() -> bool:
    """Whether a window could be seen, or a platform was asked for by name. Raises `StudioError` for a dead display."""
    if os.environ.get("QT_QPA_PLATFORM") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("win32", "darwin"):
        return True
    display = os.environ.get("DISPLAY")
    if display and not _answers():
        raise StudioError(
            f"The display {display} does not answer or lets nobody in: expected a running one in DISPLAY; "
            "unset DISPLAY to have the tour as pictures instead."
        )
    return bool(display)


def _answers() -> bool:
    """Whether the X server that DISPLAY names lets us in. Without the library that Qt asks too, nobody knows."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    refused = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not refused
