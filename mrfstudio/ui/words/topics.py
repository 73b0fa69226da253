"""Which page says what a control is: a control carries its topic, or one of those around it does."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

TOPIC = "topic"


def set_topic(widget: QWidget, topic: str) -> None:
    """Say which page is about a control, such as `algorithm/bp`."""
    widget.setProperty(TOPIC, topic)


def topic_of(widget: QWidget | None) -> str:
    """The topic of a control, or of the nearest thing around it that has one; empty where there is none."""
    while widget is not None:
        topic = widget.property(TOPIC)
        if topic:
            return str(topic)
        widget = widget.parentWidget()
    return ""
