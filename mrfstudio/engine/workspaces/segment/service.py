"""The Segment workspace to the engine: grid models, contour pictures, clones, labels."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mrfstudio.assets import asset
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT, SEEN, UNSEEN
from mrfstudio.engine.families.contours import CONTOURS, contour_algorithms, contours_of
from mrfstudio.engine.files.model_file import ModelFile, ModelFileError, read_card, shipped_models, user_models
from mrfstudio.engine.protocol.answers import CloneGallery, Loaded, ModelNote, Picture
from mrfstudio.engine.protocol.commands import SetImage
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Route
from mrfstudio.engine.protocol.requests.segment import FindContours, MakeFigure, MeasureClones, SaveLabels
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions

GALLERY_IMAGES: int | None = None
"""Pictures that a gallery of clones is measured on; None takes as many as the family likes."""


@SERVICES.register
class SegmentService(Service):
    """Contours are segmented by models that know CONTOUR, OUT and IN; it begins with the one with the most clones."""

    name = SegmentWorkspace.name
    restores = SegmentWorkspace

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        super().__init__(sessions, models)
        self._models = {name: model for name, model in models.items() if CONTOURS.of(model) is not None}
        self._workspace = SegmentWorkspace(self._models)
        self._galleries: dict[str, CloneGallery] = {}

    def routes(self) -> Iterable[Route]:
        yield FindContours.by(self.find_contours)
        yield MakeFigure.by(self.make_figure)
        yield SaveLabels.by(self.save_labels)
        yield MeasureClones.by(self.measure_clones)

    def loaded(self, so_far: Loaded) -> Loaded:
        from mrfstudio.engine.workspaces.segment.pictures import figure_sources

        given = tuple(_given(name, model) for name, model in self._models.items())
        return replace(
            so_far,
            models=(*so_far.models, *given, *contour_models()),
            figures=figure_sources(),
            fitting={**so_far.fitting, self.name: contour_algorithms()},
            kinds={**so_far.kinds, self.name: CONTOURS.kinds()},
        )

    def workspace(self) -> SegmentWorkspace:
        return self._workspace

    def session(self) -> Session:
        if self.name not in self.sessions:
            self.sessions.show(Session(self._workspace, self._first_model(), threads=self.sessions.threads))
        return self.sessions[self.name]

    def begin(self) -> str:
        picture = first_example()
        document = self._workspace.opened(SetImage(picture.observed, picture.truth, picture.name))
        model, threads = self._first_model(), self.sessions.threads
        self.sessions.show(Session(self._workspace, model, document=document, threads=threads))
        return picture.name

    def describe(self, model: str) -> ModelNote:
        self._workspace.load(model)
        return _note(model)

    def _first_model(self) -> str:
        known = [*self._models, *(note.name for note in contour_models())]
        if not known:
            raise StudioError(
                f"No model that segments is here: open one, or train one with `mrfstudio train {CONTOURS.kinds()[0]}`."
            )
        return known[0]

    # Questions --------------------------------------------------------------------------------------------------------

    def find_contours(self, asked: FindContours) -> Picture:
        from mrfstudio.engine.workspaces.segment.pictures import contour_picture

        return contour_picture(
            asked.source,
            ink=asked.ink,
            threshold=asked.threshold,
            longest=asked.longest,
            filled=asked.filled,
            thin=asked.thin,
        )

    def make_figure(self, asked: MakeFigure) -> Picture:
        from mrfstudio.engine.workspaces.segment.pictures import figure_picture

        return figure_picture(
            asked.dataset,
            kind=asked.kind,
            seed=asked.seed,
            size=asked.size,
            edges=asked.edges,
            deletion=asked.deletion,
        )

    def save_labels(self, asked: SaveLabels) -> str:
        from mrfstudio.engine.files.images import write_labels

        session = self.session()
        view = session.timeline.runner.view(session.point, session.point.lane(asked.lane))
        if view is None:
            raise StudioError("There are no labels to save yet: run at least one iteration.")
        write_labels(asked.path, self._workspace.labels(view).argmax(-1))
        return asked.path

    def measure_clones(self, asked: MeasureClones) -> Generator[tuple[int, int], None, CloneGallery]:
        if asked.model not in self._galleries:
            model = self._workspace.load(asked.model)
            self._galleries[asked.model] = yield from contours_of(model).gallery(model, asked.model, GALLERY_IMAGES)
        return self._galleries[asked.model]


def first_example() -> Picture:
    """A noisy five, stored because drawing it would load scipy before the first picture.

    `assets/first_example.txt` has a character for each pixel: contour `#` where seen and `+` where hidden, OUT `.`, or
    `x` where a contour is seen that bounds nothing, IN a space.
    """
    rows = asset("first_example.txt").read_text(encoding="ascii").splitlines()
    characters = np.array([list(row) for row in rows])
    labels = np.select([np.isin(characters, ("#", "+")), characters == " "], [CONTOUR, IN], OUT)
    observed = np.where(np.isin(characters, ("#", "x")), SEEN, UNSEEN)
    return Picture("glyphs 5", observed.astype(np.uint8), labels.astype(np.uint8))


def contour_models() -> tuple[ModelNote, ...]:
    """The models that segment and are known by name, the best first."""
    known: list[tuple[bool, int, int, ModelNote]] = []
    own = user_models()
    for name in (*shipped_models(), *own):
        try:
            file = read_card(name)
        except ModelFileError:
            continue  # a damaged file must not keep the window from opening; choosing it says what is wrong
        if CONTOURS.knows(file.kind):
            note = _note(name)
            known.append((name in own, -(note.sizes or (0, 0))[1], -_clones(file), note))
    # As `mrfstudio segment` prefers them: what fills the largest figures first, then more clones; one's own last.
    return tuple(note for *_, note in sorted(known, key=lambda each: (*each[:3], each[3].name)))


def _given(name: str, model: Any) -> ModelNote:
    return ModelNote(name, model.kind, _title(contours_of(model).clones(model)))


def _note(name: str) -> ModelNote:
    file = read_card(name)
    scores = file.card.get("scores") or {}
    test = scores.get("test") if isinstance(scores.get("test"), dict) else scores
    iou = test.get("iou") if isinstance(test, dict) else None
    sizes = CONTOURS[file.kind].sizes_of(file.card.get("hyperparameters") or {})
    return ModelNote(name, file.kind, _title(_clones(file), iou), sizes=sizes)


def _title(clones: int, iou: object = None) -> str:
    words = [f"{clones} clones"] if clones else []
    return ", ".join(words + ([f"IoU {iou:.2f}"] if isinstance(iou, int | float) else []))


def _clones(file: ModelFile) -> int:
    """Hidden states of CONTOUR, as the card says; 0 where it does not."""
    return CONTOURS[file.kind].clones_of(file.card.get("hyperparameters") or {})
