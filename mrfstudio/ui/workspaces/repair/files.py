"""What comes into the Repair workspace and goes out of it: photographs, repaired ones, the command."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.engine.protocol.requests.repair import DamagedExample, SaveDamage, SaveRepaired
from mrfstudio.ui.export.pictures import PNG, ask_path
from mrfstudio.ui.window.actions import ActionHandlers
from mrfstudio.ui.workspaces.repair.actions import EXAMPLES, EXPORT_REPAIRED
from mrfstudio.ui.workspaces.shared.canvas_files import command_line
from mrfstudio.ui.workspaces.shared.photograph_files import PhotographCanvasFiles


class RepairFiles(PhotographCanvasFiles):
    """Methods are named like the actions they do."""

    examples = EXAMPLES

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {**super().action_handlers(), EXPORT_REPAIRED: self.export_repaired}

    def example(self, number: int) -> DamagedExample:
        return DamagedExample(number)

    # Out --------------------------------------------------------------------------------------------------------------

    def export_repaired(self) -> None:
        path = ask_path(self._window, self._settings, "Export repaired", f"{self._name}-repaired.png", [PNG])
        if path is not None:
            self.save_repaired(path)

    def save_repaired(self, path: Path) -> None:
        self._controller.ask(SaveRepaired(str(path)), lambda written: self._say(f"Written: {written}"))

    def copy_command(self) -> None:
        """`mrfstudio inpaint …` on an example in words, or on photograph and damage as files; else the whole state."""
        frame = self._controller.newest
        if frame is None or len(frame.lanes) != 1:
            super().copy_command()
            return
        model = frame.lanes[0].model

        def line(photo: str, mask: str) -> str:
            return command_line("inpaint", photo, "--mask", mask, "--model", model, "--out", "out.png")

        def saved(paths: tuple[str, str] | None) -> None:
            if paths is None:  # the command knows neither doubtful pixels nor components that are held
                self.copy_replay()
            else:
                self._copy(line(*paths))

        def save() -> None:
            self._controller.ask(SaveDamage(str(self.new_place())), saved)

        self.copy_shipped(lambda word: line(word, word), lambda: self.copy_replay(save))
