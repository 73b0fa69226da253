"""The libraries that Qt takes from the system: only Linux leaves them to it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mrfstudio.launcher.progress import LauncherError, run

# What Qt's widgets and its offscreen and X11 plugins load, and the Debian package of each (`ldd` on them tells).
DEBIAN_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
QT_FILES = ("QtWidgets.abi3.so", "QtSvg.abi3.so", "QtDBus.abi3.so", "Qt/plugins/platforms/libq[ox]*.so",
            "Qt/plugins/xcbglintegrations/*.so")  # fmt: skip
APT_INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends"]


def as_root(command: list[str]) -> str:
    """The words to type for a command that needs root."""
    return " ".join(command if os.geteuid() == 0 else ["sudo", *command])


def missing_libraries(packages: Path) -> list[str]:
    """The shared libraries that the Qt in this site-packages folder would not find."""
    files = [str(path) for pattern in QT_FILES for path in (packages / "PySide6").glob(pattern)]
    if not files or not sys.platform.startswith("linux") or not shutil.which("ldd"):
        return []
    return not_found(subprocess.run(["ldd", *files], capture_output=True, text=True).stdout)


def not_found(ldd_output: str) -> list[str]:
    return sorted(set(re.findall(r"(\S+) => not found", ldd_output)))


def missing_sentence(missing: list[str]) -> str:
    """Which libraries are missing, and the command that installs them."""
    packages = sorted({DEBIAN_PACKAGES[name] for name in missing if name in DEBIAN_PACKAGES})
    start = f"Qt needs {', '.join(missing)}, which this machine does not have: "
    if packages and shutil.which("apt-get"):
        return f"{start}run `{as_root([*APT_INSTALL, *packages])}`."
    return start + "install what contains it with your system's package manager."


def install_python_parts() -> None:
    """Debian's Python comes without ensurepip and pip: one of them must be there before anything can be installed."""
    if importlib.util.find_spec("ensurepip") is None and importlib.util.find_spec("pip") is None:
        apt_install(["python3-venv"])


def install_libraries(packages: Path) -> None:
    """Install what is missing, and Xvfb: a display for the tests of the real window."""
    wanted = {DEBIAN_PACKAGES.get(name, name) for name in missing_libraries(packages)}
    if not shutil.which("Xvfb"):
        wanted.add("xvfb")
    if wanted:
        apt_install(sorted(wanted))


def apt_install(packages: list[str]) -> None:
    command = [*APT_INSTALL, *packages]
    if not shutil.which("apt-get"):
        raise LauncherError(
            f"`setup --system` knows only Debian's apt-get: install {', '.join(packages)} in your system's way."
        )
    if os.geteuid() != 0:
        raise LauncherError(f"`setup --system` must run as root: use sudo, or run `{as_root(command)}`.")
    run("Reading the package lists", ["apt-get", "update"])  # old lists may do as well: only the next step decides
    output = run("Installing system libraries", command)
    if output is not None:
        raise LauncherError("\n".join([f"`{' '.join(command)}` failed:", *output.splitlines()[-5:]]))
