"""The picture that a person paints on."""

from mrfstudio.ui.canvas.input import Canvas
from mrfstudio.ui.canvas.tools import SEGMENT_TARGETS, TOOLS, Target, Tool

__all__ = ["SEGMENT_TARGETS", "TOOLS", "Canvas", "Target", "Tool"]
