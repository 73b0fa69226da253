"""The Inpaint workspace to the engine: models, pictures, galleries, hidden units, exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.families.pixels import PIXELS, picture_algorithms, pixels_of
from mrfstudio.engine.files.images import write_image
from mrfstudio.engine.files.model_file import ModelFile, ModelFileError, read_card, shipped_models, user_models
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from mrfstudio.engine.protocol.answers import GreyPicture, Loaded, ModelNote, PictureGallery, PictureSource, UnitGallery
from mrfstudio.engine.protocol.commands import SetImage
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Route
from mrfstudio.engine.protocol.requests.inpaint import (
    CropPicture,
    ListPictureSources,
    PictureFor,
    PicturePage,
    SavePicture,
    SaveQuery,
    ShowUnits,
)
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.inpaint import pictures as grey_pictures
from mrfstudio.engine.workspaces.inpaint.workspace import InpaintWorkspace
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions

FIRST = ("grbm-faces", "grbm-frey", "rbm-mnist")
"""What the workspace begins with, as far as it is there."""
DRAWN = PictureSource("model", "From memory", "Pictures that the model itself draws: no data are needed.")
SWEEPS = 200
"""Of the chains that draw pictures from memory; they begin anywhere."""
NO_MODEL = "No model that fills in pictures is here: open one, or train one with `mrfstudio train {}`."


@SERVICES.register
class InpaintService(Service):
    """Pictures with holes are filled in by models of pictures."""

    name = InpaintWorkspace.name
    restores = InpaintWorkspace

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        super().__init__(sessions, models)
        self._given = {name: model for name, model in models.items() if PIXELS.of(model) is not None}
        self._workspace = InpaintWorkspace(self._given)

    def routes(self) -> Iterable[Route]:
        yield PictureFor.by(lambda asked: self.picture_for(asked.model))
        yield ListPictureSources.by(lambda asked: self.sources(asked.model))
        yield PicturePage.by(lambda asked: self.gallery(asked.dataset, asked.model, asked.page))
        yield CropPicture.by(self.crop)
        yield ShowUnits.by(lambda asked: self.units(asked.model))
        yield SavePicture.by(lambda asked: self.save_picture(asked.path, asked.lane))
        yield SaveQuery.by(lambda asked: self.save_query(asked.folder))

    def loaded(self, so_far: Loaded) -> Loaded:
        return replace(
            so_far,
            models=(*so_far.models, *self.models()),
            fitting={**so_far.fitting, self.name: picture_algorithms()},
            kinds={**so_far.kinds, self.name: PIXELS.kinds()},
        )

    def workspace(self) -> InpaintWorkspace:
        return self._workspace

    def session(self) -> Session:
        if self.name not in self.sessions:
            raise StudioError("Nothing to inpaint is open yet.")
        return self.sessions[self.name]

    def begin(self) -> str:
        model = self.first_model()
        picture = self.picture_for(model)
        command = SetImage(picture.picture, picture.picture, picture.name, picture.mask)
        document = self._workspace.opened(command)
        self.sessions.show(Session(self._workspace, model, document=document, threads=self.sessions.threads))
        return document.name

    # Models -----------------------------------------------------------------------------------------------------------

    def models(self) -> tuple[ModelNote, ...]:
        """Every model of pictures, the one to begin with first."""
        given = tuple(self.describe(name) for name in self._given)
        notes = []
        for name in dict.fromkeys((*shipped_models(), *user_models())):
            try:
                file = read_card(name)
            except ModelFileError:
                continue  # choosing it says what is wrong
            if PIXELS.knows(file.kind) and _image_shape(file) is not None:
                notes.append(_note(name, file))
        rank = {name: place for place, name in enumerate(FIRST)}
        notes.sort(key=lambda note: (rank.get(note.name, len(rank)), note.name))
        return (*given, *notes)

    def describe(self, model: str) -> ModelNote:
        """One line about a model of pictures; refuses what is none."""
        loaded = self._workspace.load(model)
        shape = pixels_of(loaded).shape(loaded)
        return ModelNote(model, loaded.kind, _title(pixels_of(loaded).hidden(loaded), shape), shape)

    def first_model(self) -> str:
        known = self.models()
        if not known:
            raise StudioError(NO_MODEL.format(" or ".join(PIXELS.kinds())))
        return known[0].name

    # Pictures ---------------------------------------------------------------------------------------------------------

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
        pictures = drawn_by(self._workspace.load(model), grey_pictures.PAGE, page)
        first = page * grey_pictures.PAGE
        return PictureGallery(dataset, page, pictures, tuple(range(first, first + len(pictures))))

    def crop(self, asked: CropPicture) -> GreyPicture:
        """A person's picture at a model's size; `match` gives it the brightness that the model was trained on."""
        loaded = self._workspace.load(asked.model)
        brightness = pixels_of(loaded).brightness(loaded) if asked.match else None
        return grey_pictures.grey_picture(
            asked.source, self._shape(asked.model), rectangle=asked.rectangle, brightness=brightness
        )

    def _shape(self, model: str) -> tuple[int, int]:
        loaded = self._workspace.load(model)
        return pixels_of(loaded).shape(loaded)

    # Hidden units -----------------------------------------------------------------------------------------------------

    def units(self, model: str) -> UnitGallery:
        """What each hidden unit of a model adds to the picture."""
        loaded = self._workspace.load(model)
        pixels = pixels_of(loaded)
        return UnitGallery(model, pixels.fields(loaded), pixels.field_unit)

    # Out --------------------------------------------------------------------------------------------------------------

    def save_picture(self, path: str, lane: int = 0) -> str:
        """Write the filled-in picture of a lane at its own size."""
        session = self.session()
        view = session.timeline.runner.view(session.point, session.point.lane(lane))
        if view is None:
            raise StudioError("There is no picture to save yet: run at least one iteration.")
        write_image(path, self._workspace.beliefs(view)[0])
        return path

    def save_query(self, folder: str) -> tuple[str, str] | None:
        """Write the picture and its mask, white where it is unknown, for the `inpaint` command; returns their paths.

        None if they do not say everything: pixels are doubtful, or hidden units held.
        """
        session = self.session()
        held = session.document.held(session.point.lanes[0].model_name)
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
        pictures = to_host(sampler.samples(model, evidence, state).float())
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
    size = [] if shape is None else [f"{shape[1]}×{shape[0]} pixels"]
    return ", ".join(size + [f"{hidden} hidden units"] * bool(hidden))
