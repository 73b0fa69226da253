"""The Photograph workspace to the engine: photographs in, labels and cut-outs out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfstudio.engine.families.scribbles import SCRIBBLES
from mrfstudio.engine.files.model_file import (
    ModelFileError,
    read_card,
    shipped_models,
    user_models,
    user_models_folder,
)
from mrfstudio.engine.protocol.answers import Loaded, ModelNote, PhotographFile, PhotographLook
from mrfstudio.engine.protocol.commands import SetPhotograph
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Background, Route
from mrfstudio.engine.protocol.requests.photograph import (
    CutPixels,
    ExamplePhotograph,
    KeepModel,
    LookAtPicture,
    ReadPhotograph,
    SaveCut,
    SaveScribbles,
)
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.session.photo import photo_of
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.photograph import ALGORITHMS
from mrfstudio.engine.workspaces.photograph.algorithm import CoarseToFine, PhotographModel
from mrfstudio.engine.workspaces.photograph.examples import EXAMPLES, example_rgb, example_strokes
from mrfstudio.engine.workspaces.photograph.workspace import MODEL, PhotographWorkspace
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions

if TYPE_CHECKING:
    from mrfstudio.engine.workspaces.photograph.export import CutoutAnswer

# Pillow is imported where it is needed: the first picture of other workspaces does not wait for it.

MEMORY = 256 * 2**20
"""Of history: at 12 megapixels the newest two iterations of the finest level and the coarse ones. Undo is not in it:
its tiles are compressed and small."""
COLOURED = 0.08
"""Spread of a pixel's channels from which a picture is not grey."""


@SERVICES.register
class PhotographService(Service):
    """Photographs are cut by strokes."""

    name = PhotographWorkspace.name
    restores = PhotographWorkspace

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        super().__init__(sessions, models)
        self._workspace = PhotographWorkspace()

    def routes(self) -> Iterable[Route]:
        yield ReadPhotograph.by(lambda asked: Background(lambda: read_photograph(asked.source, asked.name)))
        yield ExamplePhotograph.by(lambda asked: example_photograph(asked.number))
        yield LookAtPicture.by(lambda asked: Background(lambda: look_at(asked.path)))
        yield SaveCut.by(self.save_cut)
        yield CutPixels.by(self.cut_pixels)
        yield SaveScribbles.by(lambda asked: self.save_scribbles(asked.folder))
        yield KeepModel.by(lambda asked: self.keep_model(asked.name))

    def loaded(self, so_far: Loaded) -> Loaded:
        return replace(
            so_far,
            models=(*so_far.models, self.describe(MODEL), *self.kept_models()),
            fitting={**so_far.fitting, self.name: ALGORITHMS},
            kinds={**so_far.kinds, self.name: (PhotographModel.kind,)},
        )

    def workspace(self) -> PhotographWorkspace:
        return self._workspace

    def describe(self, model: str) -> ModelNote:
        network = self._workspace.load(model).network
        if network is None:
            return ModelNote(
                MODEL, PhotographModel.kind, "colours and distances from your strokes, and a field of edges"
            )
        return _note(model, [each.title for each in network.labels])

    def kept_models(self) -> Iterable[ModelNote]:
        """Networks of photographs that are shipped or that a person kept."""
        for name in dict.fromkeys((*shipped_models(), *user_models())):
            try:
                file = read_card(name)
            except ModelFileError:
                continue  # choosing it says what is wrong
            if SCRIBBLES.knows(file.kind):
                yield _note(name, [str(each[1]) for each in file.card["hyperparameters"]["labels"]])

    def keep_model(self, name: str) -> Background[ModelNote]:
        """What the strokes taught as a file in the person's folder of models."""
        from mrfstudio.engine.workspaces.photograph import export

        plain = " ".join(name.split())
        if not plain or not all(letter.isalnum() or letter in "-_. " for letter in plain) or plain.startswith("."):
            raise StudioError(f"A model cannot be called {name!r}: use letters, digits, spaces and - _ .")
        if plain in shipped_models():
            raise StudioError(f"A model that comes with the program is called {plain!r}: choose another name.")
        answer = self._answer()

        def work() -> ModelNote:
            note = _note(plain, export.keep_model(answer, user_models_folder() / f"{plain}.safetensors"))
            self._workspace.forget(plain)
            return note

        return Background(work)

    def begin(self) -> str:
        said = ""
        try:
            first = example_photograph(0)
            command = SetPhotograph(first.content, first.name, first.strokes, first.labels)
            document = self._workspace.photographed(command)
        except StudioError as missing:  # a person's own photographs can be opened all the same
            document, said = self._workspace.blank(), str(missing)
        session = Session(
            self._workspace,
            MODEL,
            CoarseToFine.name,
            document=document,
            memory=MEMORY,
            threads=self.sessions.threads,
        )
        if said:
            session.say(said)
        self.sessions.show(session)
        return document.name

    @classmethod
    def shipped_arrays(cls, name: str) -> dict[str, np.ndarray]:
        names = [each.name for each in EXAMPLES]
        return arrays_of(example_photograph(names.index(name))) if name in names else {}

    # Out --------------------------------------------------------------------------------------------------------------

    def _answer(self) -> CutoutAnswer:
        from mrfstudio.engine.workspaces.photograph import export

        session = self.session()
        view = session.timeline.runner.view(session.point, session.point.lanes[0])
        if view is None:
            raise StudioError(export.NOTHING)
        return export.found(view)

    def cut_pixels(self, asked: CutPixels) -> np.ndarray:
        from mrfstudio.engine.workspaces.photograph.export import cut_pixels

        return cut_pixels(self._answer(), asked.label, asked.soft)

    def save_cut(self, asked: SaveCut) -> Background[str]:
        from mrfstudio.engine.workspaces.photograph import export

        answer = self._answer()

        def work() -> str:
            export.save(answer, asked.path, asked.what, asked.label, asked.soft)
            return asked.path

        return Background(work)

    def save_scribbles(self, folder: str) -> tuple[str, str, int]:
        from mrfstudio.engine.workspaces.photograph import export

        document = self.session().document
        assert document.photo is not None
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        ending = export.ending(document.photo.content)
        photo, strokes = place / f"photograph{ending}", place / "strokes.png"
        photo.write_bytes(document.photo.content.tobytes())
        return str(photo), str(strokes), export.write_counted(strokes, document)


def _note(name: str, titles: Iterable[str]) -> ModelNote:
    return ModelNote(name, PhotographModel.kind, f"a network that knows {', '.join(titles)}, beside your strokes")


def read_photograph(source: str | np.ndarray, name: str = "") -> PhotographFile:
    """A photograph from a file or as colours (h, w, 3)."""
    from mrfstudio.engine.files.photographs import as_content, read_content

    if isinstance(source, np.ndarray):
        content, title = as_content(source), name or "photograph"
    else:
        content, title = read_content(source), name or Path(source).name
    photo = photo_of(content, title)
    return PhotographFile(title, content, photo.shape, photo.said)


def example_photograph(number: int) -> PhotographFile:
    """One of the examples with its strokes."""
    from mrfstudio.engine.files.photographs import as_content

    example = EXAMPLES[number % len(EXAMPLES)]
    rgb = example_rgb(example)
    shape = (int(rgb.shape[0]), int(rgb.shape[1]))
    strokes = example_strokes(example, shape)
    return PhotographFile(example.name, as_content(rgb), shape, strokes=strokes, labels=example.labels)


def arrays_of(shown: PhotographFile) -> dict[str, np.ndarray]:
    """What a session file holds of an example that it began with."""
    assert shown.strokes is not None
    return {"photograph": shown.content, "origin strokes": shown.strokes}


def look_at(path: str) -> PhotographLook:
    """Whether a picture is coloured, and looks like a photograph."""
    from mrfstudio.engine.files.photographs import colourfulness, looks_like_a_photograph, read_content

    rgb = photo_of(read_content(path), Path(path).name).rgb
    spread, _ = colourfulness(rgb)
    return PhotographLook(spread > COLOURED, looks_like_a_photograph(rgb))
