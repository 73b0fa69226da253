"""Set a pixel: the document after a stroke, a fill, an inversion, an emptied layer, other labels, a held unit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mrfstudio.engine.protocol.commands import ClampUnit, ClearLayer, Command, Fill, Invert, SetLabels, Shape
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.raster import Mask, command_mask
from mrfstudio.engine.session.document import STRENGTH, Document, LayerSpec, blank_document, checked_labels

ERASE = -1


def painted(document: Document, command: Command, specs: Mapping[str, LayerSpec]) -> Document | None:
    """The document after a shape, `Fill`, `Invert`, `ClearLayer` or `ClampUnit`; None for other commands."""
    if isinstance(command, ClampUnit):
        return _clamped(document, command)
    if isinstance(command, SetLabels):
        return _relabelled(document, command, specs)
    if isinstance(command, Invert):
        return _inverted(document, _spec(command.layer, specs))
    if isinstance(command, ClearLayer):
        spec = _spec(command.layer, specs)
        empty = blank_document([spec], document.shape)
        return document.with_layers(empty.layers)
    if not isinstance(command, Shape | Fill):
        return None
    spec = _spec(command.layer, specs)
    value = _value(command.value, spec)
    if not 0 < command.strength <= 1:
        raise StudioError(f"The brush has strength {command.strength}: expected a number above 0 and at most 1.")
    top, left, mask = _covered(document, command)
    if not mask.any():
        return document
    strength = 1.0 if command.value == ERASE else spec.strength(value, command.strength)
    changed = {}
    for name, content in ((spec.name, value), (spec.name + STRENGTH, strength)):
        if name not in document.layers:
            continue
        array = document.layers[name].copy()
        array[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = content
        changed[name] = array
    return document.with_layers(changed)


def _covered(document: Document, command: Shape | Fill) -> tuple[int, int, Mask]:
    if not isinstance(command, Fill):
        return command_mask(command, document.shape)
    height, width = document.shape
    if not (0 <= command.row < height and 0 <= command.column < width):
        place = f"(row {command.row}, column {command.column})"
        raise StudioError(f"Fill starts at {place}: the image has {height} rows and {width} columns.")
    return 0, 0, _flood(document.layers[command.layer], command.row, command.column)


def _inverted(document: Document, spec: LayerSpec) -> Document:
    if len(spec.values) != 2:
        raise StudioError(f"Layer {spec.name} has {len(spec.values)} values: only a layer with two can be inverted.")
    low, high = spec.values
    array = document.layers[spec.name]
    swapped = np.where(array == low, high, low).astype(array.dtype)
    return document.with_layers({spec.name: swapped, spec.name + STRENGTH: np.ones(array.shape, np.float32)})


def _clamped(document: Document, command: ClampUnit) -> Document:
    if command.value not in (None, 0, 1) or command.unit < 0:
        given = f"Unit {command.unit} was to be held at {command.value}"
        raise StudioError(f"{given}: expected a unit of at least 0 and 0, 1, or nothing to let it go.")
    others = [clamp for clamp in document.clamps if clamp[:2] != (command.model, command.unit)]
    if command.value is not None:
        others.append((command.model, command.unit, command.value))
    return replace(document, clamps=tuple(sorted(others)))


def _relabelled(document: Document, command: SetLabels, specs: Mapping[str, LayerSpec]) -> Document:
    """Other labels; strokes of a label that is gone go with it."""
    labels = checked_labels(command.labels)
    gone = sorted({each.number for each in document.labels} - {each.number for each in labels})
    gone += [number + LEANING for number in gone]
    changed = {}
    for name, spec in specs.items():
        lost = np.isin(document.layers[name], gone) if gone else np.zeros(0, np.bool_)
        if lost.any():
            changed[name] = np.where(lost, np.uint8(spec.blank), document.layers[name])
    return replace(document.with_layers(changed) if changed else document, labels=labels)


def _flood(array: np.ndarray, row: int, column: int) -> Mask:
    """Pixels of the same value that are 4-connected with one pixel, (h, w)."""
    from scipy import ndimage  # a fifth of a second that only the first fill pays

    regions, _ = ndimage.label(array == array[row, column])
    return np.asarray(regions == regions[row, column])


def _spec(layer: str, specs: Mapping[str, LayerSpec]) -> LayerSpec:
    if layer not in specs:
        raise StudioError(f"There is no layer {layer!r} to paint on: expected one of {', '.join(specs)}.")
    return specs[layer]


def _value(value: int, spec: LayerSpec) -> int:
    if value == ERASE:
        return spec.blank
    if value not in spec.values:
        raise StudioError(
            f"Layer {spec.name} was to be painted with {value}: expected one of {spec.in_words}, or {ERASE} to erase."
        )
    return value
