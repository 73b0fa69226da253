"""Files in the real window: saved, opened, dropped, pasted and exported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QImage
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog
from pytestqt.qtbot import QtBot

from mrfstudio.engine.files.model_file import save_model
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.workspaces.converge.view import ConvergeView
from mrfstudio.ui.workspaces.segment.picture_dialog import PictureDialog
from tests.engine.helpers.pictures import small_grbm
from tests.ui.helpers.studio import Studio, studio_in


def test_a_session_is_first_saved_under_the_name_of_its_picture(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed = []
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *words: (proposed.append(Path(words[2]).name), ("", ""))[1]
    )
    studio.do("save_as")
    assert proposed == ["glyphs 5.mrfs"]


def test_a_saved_session_opens_again(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "mine.mrfs"
    studio.stroke((2, 2), (2, 9))
    studio.settle()
    painted = studio.frame.layers["observed"].copy()
    studio.window.files.save_to(path)
    studio.until(lambda: path.exists() and not studio.frame.modified)
    assert studio.window.windowTitle().startswith("mine.mrfs")
    studio.do("clear_observed")
    studio.settle()
    assert (studio.frame.layers["observed"] == 1).all()
    studio.do("undo")
    studio.settle()
    studio.window.files.save_to(path)
    studio.settle()
    studio.do("clear_observed")
    studio.settle()
    studio.window.files._open_session(path)
    studio.until(lambda: np.array_equal(studio.frame.layers["observed"], painted))
    assert studio.settings.recent[0] == path


def test_a_file_that_cannot_be_opened_leaves_a_workspace_with_something_to_see(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    graph, session = tmp_path / "empty.uai", tmp_path / "cut.mrfs"
    graph.touch()
    session.write_bytes(b"PK")
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.show()
        studio.window.after_first_paint(session)
        studio.thread.start()
        studio.until(lambda: studio.frame.name == "glyphs 5")
        studio.window.files.open(graph)
        studio.until(lambda: len(studio.messages) == 2 and "marginal" in studio.frame.lanes[0].pictures)
        assert studio.frame.workspace == "graph"
        assert [message.split(" ")[0].strip(":") for message in studio.messages] == [str(session), str(graph)]
        studio.window.show_workspace("segment")
        studio.settle()


def test_a_model_opens_in_the_workspace_of_its_kind(studio: Studio, tmp_path: Path) -> None:
    path, other = tmp_path / "faces.safetensors", tmp_path / "spins.safetensors"
    model = small_grbm(3, (28, 28), 12)
    save_model(path, "grbm", model.tensors(), {"hyperparameters": model.hyperparameters()})
    save_model(other, "ising", {"couplings": torch.zeros(1)}, {})
    studio.window.files.open(path)
    studio.until(lambda: studio.frame.workspace == "inpaint" and studio.frame.lanes[0].model == str(path))
    assert studio.messages == []
    said = studio.window.message_bar
    studio.window.files.open(other)
    studio.qtbot.waitUntil(lambda: "kind ising" in said.text.text())
    studio.window.files.open(tmp_path / "nothing.png")
    assert "does not exist" in said.text.text()
    (tmp_path / "picture.png").touch()
    studio.window.show_workspace("train")
    studio.window.files.open(tmp_path / "picture.png")
    assert "open it in Segment or Photograph or Repair or Inpaint" in said.text.text()


def test_a_graph_with_many_states_is_shown(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "many.uai"
    path.write_text("MARKOV\n2\n11 2\n1\n2 0 1\n22\n" + " ".join(["1", "2"] * 11) + "\n", encoding="ascii")
    studio.window.files.open(path)
    studio.until(lambda: studio.frame.lanes[0].model == "many.uai" and studio.frame.lanes[0].status == "converged")
    studio.window.grab()
    graph = studio.window.workspaces["graph"]
    assert isinstance(graph, ConvergeView)
    assert len(graph.palette.states) == 10  # as many as there are digits
    assert graph.curves.histogram.labels[10] == "state 10"


def test_pictures_and_numbers_can_be_exported(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["canvas.png", "curves.png", "curves.csv", "drawing", "curves.svg", "no/x.png"]
    chosen = iter([tmp_path / name for name in names])
    monkeypatch.setattr(
        "mrfstudio.ui.export.pictures.QFileDialog.getSaveFileName",
        lambda *_: (str(next(chosen)), "SVG drawing (*.svg)"),
    )
    studio.do("export_canvas")
    studio.do("export_curves")
    studio.do("export_curves")
    studio.do("export_canvas")
    studio.do("export_curves")
    assert "<image" in (tmp_path / "drawing.svg").read_text(encoding="utf-8")  # the ending is the chosen kind's
    curves = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert "residual" in curves  # letters stay letters
    assert "polyline" in curves
    assert QImage(str(tmp_path / "canvas.png")).width() >= 900
    assert QImage(str(tmp_path / "curves.png")).width() > 400
    lines = (tmp_path / "curves.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    assert lines[0].split(",")[:2] == ["lane", "iteration"]
    studio.do("export_canvas")
    assert "cannot be written" in studio.messages[-1]


def test_a_dropped_file_opens(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "two.uai"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n2 1 1 2\n", encoding="ascii")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    where = QPointF(50, 50)
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QDropEvent(where, Qt.DropAction.CopyAction, data, buttons, keys)
    studio.window.dropEvent(event)
    studio.until(lambda: studio.frame.lanes[0].model == "two.uai")
    graph = studio.frame.graph
    assert graph is not None
    assert (studio.window.workspace.title, graph.nodes) == ("Converge", 2)


def test_a_picture_can_be_dropped_without_a_file_where_pictures_mean_something(studio: Studio) -> None:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    data = QMimeData()
    data.setImageData(image)
    event = QDropEvent(
        QPointF(50, 50), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    studio.window.dropEvent(event)
    dialog = studio.window.findChild(PictureDialog)
    assert dialog is not None
    accept = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert not accept.isEnabled()  # nothing was read yet
    studio.qtbot.waitUntil(lambda: dialog.picture is not None)
    assert accept.isEnabled()
    dialog.reject()
    studio.window.choose_workspace("graph")
    studio.window.dropEvent(event)
    assert "Segment or Photograph or Repair or Inpaint" in studio.window.message_bar.text.text()


def test_an_empty_clipboard_is_told_not_a_fault(studio: Studio) -> None:
    QApplication.clipboard().clear()
    studio.do("paste")
    assert "no picture in the clipboard" in studio.messages[-1]


def test_a_place_that_cannot_be_written_is_named_with_a_remedy(studio: Studio, tmp_path: Path) -> None:
    studio.window.files.save_to(tmp_path / "missing" / "a.mrfs")
    studio.qtbot.waitUntil(lambda: bool(studio.messages))
    assert studio.messages[-1].endswith("(No such file or directory): choose another place.")
