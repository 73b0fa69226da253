"""What the Inpaint workspace asks of the engine: models, pictures, galleries, hidden units, exports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine import grey_pictures
from mrfstudio.engine.answers import GreyPicture, ModelNote, PictureGallery, PictureSource, UnitGallery
from mrfstudio.engine.commands import SetImage
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.images import write_image
from mrfstudio.engine.files.model_file import ModelFile, ModelFileError, read_card, shipped_models, user_models
from mrfstudio.engine.inference.gibbs import Gibbs
from mrfstudio.engine.session import Session
from mrfstudio.engine.workspaces.inpaint import InpaintWorkspace
from mrfstudio.engine.workspaces.pixels import KINDS, pixels_of

FIRST = ("grbm-faces", "grbm-frey", "rbm-mnist")
"""What the workspace begins with, as far as it is there."""
DRAWN = PictureSource("model", "From memory", "Pictures that the model itself draws: no data are needed.")
SWEEPS = 200
"""Of the chains that draw pictures from memory; they begin anywhere."""
NO_MODEL = "No model that fills in pictures is here: open one, or train one with `mrfstudio train grbm`."


class InpaintDesk:
    """Models by name are used beside the shipped ones."""

    def __init__(self, models: Mapping[str, Any] | None = None) -> None:
        self._given = dict(models or {})
        self.workspace = InpaintWorkspace(self._given)

    # Models -----------------------------------------------------------------------------------------------------------

    def models(self) -> tuple[ModelNote, ...]:
        """Every model of pictures, the one to begin with first."""
        given = tuple(self.note(name) for name in self._given)
        notes = []
        for name in dict.fromkeys((*shipped_models(), *user_models())):
            try:
                file = read_card(name)
            except ModelFileError:
                continue  # choosing it says what is wrong
            if file.kind in KINDS and _image_shape(file) is not None:
                notes.append(_note(name, file))
        rank = {name: place for place, name in enumerate(FIRST)}
        notes.sort(key=lambda note: (rank.get(note.name, len(rank)), note.name))
        return (*given, *notes)

    def note(self, model: str) -> ModelNote:
        """One line about a model of pictures; refuses what is none."""
        loaded = self.workspace.load(model)
        shape = pixels_of(loaded).shape(loaded)
        return ModelNote(model, loaded.kind, _title(loaded.hidden, shape), shape)

    def first_model(self) -> str:
        known = self.models()
        if not known:
            raise StudioError(NO_MODEL)
        return known[0].name

    # Pictures ---------------------------------------------------------------------------------------------------------

    def session(self, threads: int) -> Session:
        """A session on the first example: a face with a hole."""
        model = self.first_model()
        picture = self.picture_for(model)
        command = SetImage(picture.picture, picture.picture, picture.name, picture.mask)
        return Session(self.workspace, model, document=self.workspace.opened(command), threads=threads)

    def picture_for(self, model: str) -> GreyPicture:
        """A picture of a model's size with a hole in it."""
        source = next(source for source in self.sources(model) if not source.missing)
        page = self.gallery(source.name, model)
        return GreyPicture(
            picture_name(source.name, page.numbers[0]), page.pictures[0], grey_pictures.hole(self._shape(model))
        )

    def sources(self, model: str) -> tuple[PictureSource, ...]:
        """The data sets with pictures of a model's size, its own first, and what the model itself draws."""
        own = _trained_on(model)
        known = grey_pictures.picture_sources(self._shape(model))
        # A model knows its own kind of pictures best; where they are not at hand, what it draws comes next.
        rank = {own: 0, DRAWN.name: 1}
        return tuple(sorted((*known, DRAWN), key=lambda source: (bool(source.missing), rank.get(source.name, 2))))

    def gallery(self, dataset: str, model: str, page: int = 0) -> PictureGallery:
        """A page of pictures of a data set, or drawn by the model."""
        if dataset != DRAWN.name:
            return grey_pictures.picture_gallery(dataset, page)
        pictures = drawn_by(self.workspace.load(model), grey_pictures.PAGE, page)
        first = page * grey_pictures.PAGE
        return PictureGallery(dataset, page, pictures, tuple(range(first, first + len(pictures))))

    def grey_picture(
        self,
        source: str | os.PathLike[str] | NDArray,
        model: str,
        rectangle: tuple[float, float, float, float] | None = None,
        match: bool = False,
    ) -> GreyPicture:
        """A person's picture at a model's size; `match` gives it the brightness that the model was trained on."""
        loaded = self.workspace.load(model)
        brightness = None
        if match and loaded.kind == "grbm":
            brightness = float(loaded.mean), float(loaded.deviation)
        return grey_pictures.grey_picture(source, self._shape(model), rectangle=rectangle, brightness=brightness)

    def _shape(self, model: str) -> tuple[int, int]:
        loaded = self.workspace.load(model)
        return pixels_of(loaded).shape(loaded)

    # Hidden units -----------------------------------------------------------------------------------------------------

    def units(self, model: str) -> UnitGallery:
        """What each hidden unit of a model adds to the picture."""
        loaded = self.workspace.load(model)
        fields = loaded.receptive_fields().float().numpy()
        if loaded.kind == "grbm":
            return UnitGallery(model, np.ascontiguousarray(fields * 255))
        return UnitGallery(model, np.ascontiguousarray(fields), "log-odds of white")

    # Out --------------------------------------------------------------------------------------------------------------

    def save_picture(self, session: Session, path: str, lane: int = 0) -> str:
        """Write the filled-in picture of a lane at its own size."""
        view = session.timeline.stage.view(session.moment, session.moment.lane(lane))
        if view is None:
            raise StudioError("There is no picture to save yet: run at least one iteration.")
        write_image(path, self.workspace.beliefs(view)[0])
        return path

    def save_query(self, session: Session, folder: str) -> tuple[str, str] | None:
        """Write the picture and its mask, white where it is unknown, for the `inpaint` command; returns their paths.

        None if they do not say everything: pixels are doubtful, or hidden units held.
        """
        held = session.document.held(session.moment.lanes[0].model_name)
        if held or (session.document.strength("mask") < 1).any():
            return None
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        picture, mask = place / "picture.png", place / "mask.png"
        layers = session.document.layers
        write_image(picture, layers["picture"].astype(np.float32) / 255)
        write_image(mask, layers["mask"].astype(np.float32))
        return str(picture), str(mask)


def drawn_by(model: Any, count: int, seed: int) -> NDArray[np.uint8]:
    """Pictures (count, h, w) that a model draws from memory, by Gibbs sampling without evidence."""
    height, width = pixels_of(model).shape(model)
    sampler = Gibbs(chains=count, burn_in=0, seed=seed)
    with torch.no_grad():
        evidence = model.evidence_from_image(torch.zeros(height, width), torch.ones(height, width, dtype=torch.bool))
        state = sampler.init(model, evidence)
        for _ in range(SWEEPS):
            state = sampler.step(model, evidence, state)
        pictures = sampler.samples(model, evidence, state).float().numpy()
    return np.rint(np.clip(pictures, 0, 1) * 255).astype(np.uint8)


def _trained_on(model: str) -> str:
    """The data set of a model, as its card says; empty where it does not."""
    try:
        data = str(read_card(model).card.get("data") or "")
    except ModelFileError:
        return ""
    return data.partition(":")[0]


def picture_name(dataset: str, number: int) -> str:
    return f"{dataset} {number}"


def _image_shape(file: ModelFile) -> tuple[int, int] | None:
    shape = (file.card.get("hyperparameters") or {}).get("image_shape")
    return None if shape is None else (int(shape[0]), int(shape[1]))


def _note(name: str, file: ModelFile) -> ModelNote:
    shape = _image_shape(file)
    hidden = int((file.card.get("hyperparameters") or {}).get("hidden") or 0)
    scores = file.card.get("scores") or {}
    test = scores.get("test") if isinstance(scores.get("test"), dict) else scores
    bits = test.get("nce_bits") if isinstance(test, dict) else None
    title = _title(hidden, shape) + (f", NCE {bits:.2f} bits" if isinstance(bits, int | float) else "")
    return ModelNote(name, file.kind, title, shape)


def _title(hidden: int, shape: tuple[int, int] | None) -> str:
    size = "" if shape is None else f"{shape[1]}×{shape[0]} pixels, "
    return f"{size}{hidden} hidden units"
