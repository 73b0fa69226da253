"""The engine as the window's thread sees it: sessions by workspace, and answers to questions.

Every public method but `load`, `session` and `close` is a question: its first argument is the name of the workspace
that asks.
Nothing here knows Qt; a test or a notebook can use it as well.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mrfstudio.assets import asset
from mrfstudio.engine.answers import Aside, CloneGallery, Loaded, ModelNote, Picture
from mrfstudio.engine.commands import SetImage
from mrfstudio.engine.data.border_noise import CONTOUR, IN, OUT, SEEN, UNSEEN
from mrfstudio.engine.device import choose_device
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.model_file import ModelFile, ModelFileError, read_card, shipped_models, user_models
from mrfstudio.engine.inference import grid_belief_propagation
from mrfstudio.engine.inference.contract import kernels
from mrfstudio.engine.lessons import Lesson
from mrfstudio.engine.memory import keep_freed_memory
from mrfstudio.engine.models.grid import GridMRF
from mrfstudio.engine.registry import ALGORITHMS, catalogue
from mrfstudio.engine.session import Session
from mrfstudio.engine.session_desk import SessionDesk
from mrfstudio.engine.workspaces.contract import LabelWorkspace, Workspace
from mrfstudio.engine.workspaces.graph import GraphWorkspace
from mrfstudio.engine.workspaces.inpaint import InpaintWorkspace
from mrfstudio.engine.workspaces.pixels import KINDS
from mrfstudio.engine.workspaces.segment import SegmentWorkspace

if TYPE_CHECKING:
    from mrfstudio.engine.inpaint_desk import InpaintDesk
    from mrfstudio.engine.recovery import Keeper
    from mrfstudio.engine.runs.desk import TrainingDesk

PICTURE_ALGORITHMS = ("bp", "gibbs")
"""What fills in pictures; others would work on a factor graph of a hundred thousand edges."""

# Modules that only some questions need are imported there: half of the time to the first picture went into them. This
# one is imported so that its algorithm is known without loading all the others.
assert grid_belief_propagation.__doc__


class Desk(SessionDesk):
    """Owns the sessions. One thread uses it. Files are in `session_desk.py`, Converge in `converge_desk.py`."""

    def __init__(
        self, models: Mapping[str, Any] | None = None, figures: int = 40, keeper: Keeper | None = None
    ) -> None:
        """`models` are used beside the shipped ones; the first of a kind is what its workspace begins with.

        `figures` is how many pictures a gallery of clones is measured on. `keeper` has unsaved work outlive a crash.
        """
        keep_freed_memory()
        torch.set_flush_denormal(True)  # denormal messages would make an iteration ten times slower
        # A second thread only where a session's work is worth it: a small operation that waits for a thread which the
        # window keeps from its core takes many times as long.
        self._threads = torch.get_num_threads()
        torch.set_num_threads(1)
        super().__init__(self._threads, keeper)
        self._figures = figures
        self._galleries: dict[str, CloneGallery] = {}
        self._models = {name: model for name, model in (models or {}).items() if isinstance(model, GridMRF)}
        self._other_models = {name: model for name, model in (models or {}).items() if name not in self._models}
        self._segment = SegmentWorkspace(self._models)
        self._inpaint: InpaintDesk | None = None
        self._training: TrainingDesk | None = None

    def warm_up(self) -> None:
        """Import what the first look at a graph needs: its question would keep the engine for a tenth of a second."""
        import mrfstudio.engine.converge  # noqa: F401

    def load(self) -> Loaded:
        """Everything that the window shows before a person has done anything."""
        from mrfstudio.engine import graph_sources
        from mrfstudio.engine.layouts import LAYOUTS
        from mrfstudio.engine.models.ising import ising_grid
        from mrfstudio.engine.pictures import figure_sources
        from mrfstudio.engine.sketch import Strengths

        known = catalogue()
        fitting = {"segment": algorithms_of(GridMRF((2, 1, 1))), "graph": algorithms_of(ising_grid(1, 2))}
        fitting["inpaint"] = PICTURE_ALGORITHMS
        given = tuple(ModelNote(name, "grid", f"{model.clones[0]} clones") for name, model in self._models.items())
        models = (*given, *_grid_models(), *self.inpainting.models())
        kinds = {"segment": ("grid",), "inpaint": KINDS}
        return Loaded(
            known,
            models,
            figure_sources(),
            _device_in_words(self._threads),
            fitting,
            graph_sources.entries(),
            Strengths.entry(),
            LAYOUTS,
            kinds,
        )

    def session(self, workspace: str) -> Session:
        """The session of a workspace, made when it is first asked for."""
        if workspace not in self._sessions:
            if workspace == InpaintWorkspace.name:
                raise StudioError("Nothing to inpaint is open yet.")
            if workspace == GraphWorkspace.name:
                self.begin_graph(workspace)
            elif workspace != self._segment.name:  # a place like Train, where nothing is painted
                raise StudioError(f"The workspace {workspace!r} has no session.")
            else:
                self._sessions[workspace] = Session(self._segment, self._first_model(), threads=self._threads)
        return self._sessions[workspace]

    def settle(self, workspace: str) -> None:
        """Let no edit wait for the end of an iteration: somebody asks, to save a file for example."""
        if workspace in self._sessions:
            self._sessions[workspace].settle()

    def _first_model(self) -> str:
        known = [*self._models, *(note.name for note in _grid_models())]
        if not known:
            raise StudioError(
                "No grid model is shipped with this copy: open one, or train one with `mrfstudio train grid`."
            )
        return known[0]

    def ping(self, workspace: str) -> None:
        """Answers once everything asked before is done."""

    def close(self) -> None:
        """The window is gone: end what was started for it."""
        for session in self._sessions.values():
            session.close()
        if self._training is not None:
            self._training.close()
        if self._keeper is not None:
            self._keeper.close()

    # Lessons ----------------------------------------------------------------------------------------------------------

    def lessons(self, workspace: str) -> tuple[Lesson, ...]:
        """Everything there is to learn, easiest first."""
        from mrfstudio.engine.files.lesson_file import shipped_lessons

        return shipped_lessons()

    def begin_lesson(self, workspace: str) -> str:
        """Begin a workspace anew, with what it shows at the first start."""
        return self.begin_graph(workspace) if workspace == GraphWorkspace.name else self.begin(workspace)

    # Training ---------------------------------------------------------------------------------------------------------

    @property
    def training(self) -> TrainingDesk:
        """Runs, made when they are first asked for."""
        if self._training is None:
            from mrfstudio.engine.runs.desk import TrainingDesk

            self._training = TrainingDesk()
        return self._training

    def train(self, workspace: str, do: str, **arguments: Any) -> Any:
        """A question about training runs: `do` is a method of `TrainingDesk`."""
        return getattr(self.training, do)(**arguments)

    # Inpainting -------------------------------------------------------------------------------------------------------

    @property
    def inpainting(self) -> InpaintDesk:
        """What fills in pictures, made when it is first asked for."""
        if self._inpaint is None:
            from mrfstudio.engine.inpaint_desk import InpaintDesk

            self._inpaint = InpaintDesk(self._other_models)
        return self._inpaint

    def inpaint(self, workspace: str, do: str, **arguments: Any) -> Any:
        """A question about pictures to fill in: `do` is a method of `InpaintDesk`."""
        return getattr(self.inpainting, do)(**arguments)

    def inpainted(self, workspace: str, do: str, **arguments: Any) -> Any:
        """A question about the session that fills in a picture: `do` is a method of `InpaintDesk`."""
        return getattr(self.inpainting, do)(self.session(workspace), **arguments)

    # Pictures ---------------------------------------------------------------------------------------------------------

    def contour_picture(self, workspace: str, **arguments: Any) -> Picture:
        """Contours found in a file or in grey levels; see `pictures.contour_picture`."""
        from mrfstudio.engine.pictures import contour_picture

        return contour_picture(**arguments)

    def figure_picture(self, workspace: str, **arguments: Any) -> Picture:
        """A figure of a data set, hidden in noise; see `pictures.figure_picture`."""
        from mrfstudio.engine.pictures import figure_picture

        return figure_picture(**arguments)

    def begin(self, workspace: str) -> str:
        """Show the first example, as something to look at rather than as somebody's work."""
        if workspace == InpaintWorkspace.name:
            self._sessions[workspace] = self.inpainting.session(self._threads)
            return self._sessions[workspace].document.name
        picture = first_example()
        document = self._segment.opened(SetImage(picture.observed, picture.truth, picture.name))
        self._sessions[workspace] = Session(
            self._segment, self._first_model(), document=document, threads=self._threads
        )
        return picture.name

    def save_labels(self, workspace: str, path: str, lane: int = 0) -> str:
        """Write the decoded labels of a lane as an indexed PNG."""
        session = self.session(workspace)
        from mrfstudio.engine.files.images import write_labels

        view = session.timeline.stage.view(session.moment, session.moment.lane(lane))
        if view is None or not isinstance(session.workspace, LabelWorkspace):
            raise StudioError("There are no labels to save yet: run at least one iteration.")
        write_labels(path, session.workspace.labels(view).argmax(-1))
        return path

    def save_animation(
        self, workspace: str, path: str, pictures: list[np.ndarray], milliseconds: int, last: int
    ) -> Aside:
        """Write pictures of the canvas as one animation."""
        from mrfstudio.engine.files.animation import write_animation

        def work() -> str:
            write_animation(path, pictures, milliseconds, last)
            return path

        return Aside(work)

    def known_workspaces(self) -> dict[str, Workspace]:
        return {self._segment.name: self._segment, InpaintWorkspace.name: self.inpainting.workspace}

    # Models -----------------------------------------------------------------------------------------------------------

    def model_card(self, workspace: str, model: str) -> str:
        """A model's description as Markdown."""
        from mrfstudio.engine.files.model_card import card_markdown

        return card_markdown(Path(model).stem, read_card(model))

    def model_kind(self, workspace: str, model: str) -> str:
        """Which kind of model a file holds."""
        return read_card(model).kind

    def model_note(self, workspace: str, model: str) -> ModelNote:
        """One line about a model; refuses what the workspace cannot use."""
        if workspace == InpaintWorkspace.name:
            return self.inpainting.note(model)
        self._segment.load(model)
        return _note(model)

    def clone_gallery(self, workspace: str, model: str) -> Generator[tuple[int, int], None, CloneGallery]:
        """What the clones of a grid model have learned; takes seconds the first time."""
        from mrfstudio.engine.clones import measure_clones

        if model not in self._galleries:
            self._galleries[model] = yield from measure_clones(self._segment.load(model), model, self._figures)
        return self._galleries[model]


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


def algorithms_of(model: Any) -> tuple[str, ...]:
    """Those with a kernel for a kind of model; as a factor graph a grid of clones would take seconds an iteration."""
    return tuple(cls.name for cls in ALGORITHMS if kernels(cls(), model))  # type: ignore[arg-type]


def _grid_models() -> tuple[ModelNote, ...]:
    """The models that segment and are known by name, the best first."""
    known: list[tuple[bool, int, ModelNote]] = []
    own = user_models()
    for name in (*shipped_models(), *own):
        try:
            file = read_card(name)
        except ModelFileError:
            continue  # a damaged file must not keep the window from opening; choosing it says what is wrong
        if file.kind == "grid":
            known.append((name in own, -_clones(file), _note(name)))
    # As `mrfstudio segment` prefers them: more clones first, and a finished model before its draft; one's own last.
    return tuple(note for *_, note in sorted(known, key=lambda each: (*each[:2], each[2].name)))


def _note(name: str) -> ModelNote:
    file = read_card(name)
    scores = file.card.get("scores") or {}
    test = scores.get("test") if isinstance(scores.get("test"), dict) else scores
    iou = test.get("iou") if isinstance(test, dict) else None
    title = f"{_clones(file)} clones" + (f", IoU {iou:.2f}" if isinstance(iou, int | float) else "")
    return ModelNote(name, file.kind, title)


def _clones(file: ModelFile) -> int:
    """Hidden states of CONTOUR, as the card says; 0 where it does not."""
    counts = (file.card.get("hyperparameters") or {}).get("clones") or [0]
    return int(counts[0])


def _device_in_words(threads: int) -> str:
    device = choose_device("auto").type
    named = {"cpu": "CPU", "cuda": "CUDA", "mps": "Metal"}[device]
    return f"{named} · {threads} thread{'' if threads == 1 else 's'}"
