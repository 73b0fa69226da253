"""The Repair workspace to the engine: damaged photographs in, repaired ones out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.families.repairs import REPAIRS
from mrfstudio.engine.files.model_file import read_card
from mrfstudio.engine.protocol.answers import Loaded, ModelNote, PhotographFile
from mrfstudio.engine.protocol.commands import SetPhotograph
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Background, Route
from mrfstudio.engine.protocol.requests.repair import (
    DamagedExample,
    HeldComponent,
    LookForDamage,
    SaveDamage,
    SaveRepaired,
)
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.session.label_pictures import VisiblePart
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.repair.algorithm import DAMAGED, DOUBTFUL, RepairModel, WindowMessages, answer
from mrfstudio.engine.workspaces.repair.workspace import RepairWorkspace, held_component
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions

MEMORY = 256 * 2**20
NOTHING_YET = "Nothing is repaired yet: paint over what is damaged first."
NO_MODEL = "No model that repairs photographs is here: train one with `mrfstudio train {} --data images:FOLDER`."


@SERVICES.register
class RepairService(Service):
    """Photographs are repaired by models of windows."""

    name = RepairWorkspace.name
    restores = RepairWorkspace

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        super().__init__(sessions, models)
        self._given = {name: model for name, model in models.items() if REPAIRS.of(model) is not None}
        self._workspace = RepairWorkspace(self._given)

    def routes(self) -> Iterable[Route]:
        yield DamagedExample.by(lambda asked: example(asked.number))
        yield LookForDamage.by(self.look_for_damage)
        yield HeldComponent.by(lambda asked: held_component(self.session().document, asked.model))
        yield SaveRepaired.by(self.save_repaired)
        yield SaveDamage.by(lambda asked: self.save_damage(asked.folder))

    def loaded(self, so_far: Loaded) -> Loaded:
        return replace(
            so_far,
            models=(*so_far.models, *self.models()),
            fitting={**so_far.fitting, self.name: (WindowMessages.name,)},
            kinds={**so_far.kinds, self.name: (RepairModel.kind, *REPAIRS.kinds())},
        )

    def workspace(self) -> RepairWorkspace:
        return self._workspace

    def models(self) -> tuple[ModelNote, ...]:
        """Every model that repairs photographs, the usual one first."""
        from mrfstudio.engine.tasks.repair import repairers

        given = tuple(ModelNote(name, model.kind, "") for name, model in self._given.items())
        return (*given, *(self.describe(name) for name in repairers()))

    def describe(self, model: str) -> ModelNote:
        if model in self._given:
            return ModelNote(model, self._given[model].kind, "")
        card = read_card(model)
        if not REPAIRS.knows(card.kind):
            raise StudioError(f"The model {model} is a {card.kind}: expected one of {', '.join(REPAIRS.kinds())}.")
        sizes = card.card.get("hyperparameters") or {}
        parts = [f"{sizes[name]} {word}" for name, word in (("components", "components"), ("hidden", "hidden units"))
                 if name in sizes]  # fmt: skip
        side = sizes.get("side")
        return ModelNote(model, card.kind, ", ".join([*([f"windows of {side}×{side}"] if side else []), *parts]))

    def begin(self) -> str:
        known = self.models()
        if not known:
            raise StudioError(NO_MODEL.format(" or ".join(REPAIRS.kinds())))
        said = ""
        try:
            first = example(0)
            document = self._workspace.photographed(SetPhotograph(first.content, first.name, first.strokes))
        except StudioError as missing:  # a person's own photographs can be opened all the same
            document, said = self._workspace.blank(), str(missing)
        session = Session(
            self._workspace,
            known[0].name,
            WindowMessages.name,
            document=document,
            memory=MEMORY,
            threads=self.sessions.threads,
        )
        if said:
            session.say(said)
        self.sessions.show(session)
        return document.name

    # Damage -----------------------------------------------------------------------------------------------------------

    def look_for_damage(self, asked: LookForDamage) -> Background[int]:
        """Beside the sessions' work: a large photograph takes a moment."""
        photo, dust = self.session().document.photo, self._workspace.dust
        model = self._workspace.judge(asked.model)
        assert photo is not None
        return Background(lambda: int(dust.found(photo, model, asked.threshold).sum()))

    # Out --------------------------------------------------------------------------------------------------------------

    def save_repaired(self, asked: SaveRepaired) -> Background[str]:
        from mrfstudio.engine.files.images import write_image

        session = self.session()
        view = session.timeline.runner.view(session.point, session.point.lane(asked.lane))
        placed = None if view is None else answer(view.state)
        photo, strokes = session.document.photo, session.document.layers["strokes"]
        if placed is None or photo is None:
            raise StudioError(NOTHING_YET)

        def work() -> str:
            window = VisiblePart.fitting(None, 1, photo.shape)
            repaired = placed.seen(placed.found.colours, window)
            write_image(asked.path, np.where((strokes == DAMAGED)[..., None], repaired, photo.rgb / np.float32(255)))
            return asked.path

        return Background(work)

    @classmethod
    def shipped_arrays(cls, name: str) -> dict[str, np.ndarray]:
        from mrfstudio.engine.workspaces.photograph.service import arrays_of
        from mrfstudio.engine.workspaces.repair.examples import EXAMPLES

        names = [each.name for each in EXAMPLES]
        return arrays_of(example(names.index(name))) if name in names else {}

    def save_damage(self, folder: str) -> tuple[str, str] | None:
        from mrfstudio.engine.files.images import write_image
        from mrfstudio.engine.workspaces.photograph.export import ending

        document = self.session().document
        assert document.photo is not None
        strokes = document.layers["strokes"]
        if document.clamps or (strokes == DOUBTFUL).any():
            return None
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        photo, mask = place / f"photograph{ending(document.photo.content)}", place / "damage.png"
        photo.write_bytes(document.photo.content.tobytes())
        write_image(mask, (strokes == DAMAGED).astype(np.float32))
        return str(photo), str(mask)


def example(number: int) -> PhotographFile:
    """One of the damaged photographs."""
    from mrfstudio.engine.files.photographs import as_content
    from mrfstudio.engine.workspaces.repair.examples import damaged_example

    name, rgb, strokes = damaged_example(number)
    return PhotographFile(name, as_content(rgb), (rgb.shape[0], rgb.shape[1]), strokes=strokes)
