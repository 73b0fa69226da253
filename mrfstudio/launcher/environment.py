"""The .venv beside `studio.py`: made, filled, checked, mended."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from mrfstudio.launcher.progress import LauncherError, run, say, works
from mrfstudio.launcher.system_libraries import APT_INSTALL, as_root, missing_libraries, missing_sentence

TORCH_INDEX = "MRFSTUDIO_TORCH_INDEX"

# Runs inside .venv and prints what is wrong there, if anything: pip would not notice a deleted or emptied file.
PROBE = """
import csv, importlib.metadata, os, sys
def lost(path, size):
    return not os.path.isfile(path) or (size not in ("", "0") and os.path.getsize(path) == 0)
def damaged(package):
    rows = csv.reader((package.read_text("RECORD") or ",,").splitlines())
    return any(lost(package.locate_file(name), size) for name, _, size in rows if not name.endswith(".pyc"))
packages = importlib.metadata.distributions(path=[sys.argv[1]])
names = sorted({str(package.metadata["Name"]) for package in packages if damaged(package)})
if sys.version_info < (3, 11):
    print("its Python is older than 3.11")
elif names:
    print("files are missing from " + ", ".join(names))
"""


class Environment:
    """One checkout and its .venv."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.python = self.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        self.stamp_file = self.venv / "studio-stamp.json"
        self.log = self.venv / "studio-setup.log"

    @property
    def packages(self) -> Path:
        """The site-packages folder."""
        found = [self.venv / "Lib/site-packages", *self.venv.glob("lib/python*/site-packages")]
        return next((path for path in found if path.is_dir()), found[0])

    def state(self) -> dict[str, object] | None:
        """What the installation depends on: it is looked at again when any of this has changed.

        The time of site-packages changes when a package comes or goes, the interpreter's when the system updates it.
        """
        try:
            return {
                "pyproject": hashlib.sha256((self.root / "pyproject.toml").read_bytes()).hexdigest(),
                "root": str(self.root),
                "python": [os.path.realpath(self.python), os.stat(self.python).st_mtime_ns],
                "packages": os.stat(self.packages).st_mtime_ns,
            }
        except OSError:
            return None

    def stamp(self) -> dict[str, object]:
        """What the last installation left: `state`, `dev`, and the `missing` system libraries."""
        try:
            stamp = json.loads(self.stamp_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def write_stamp(self, state: dict[str, object] | None, dev: bool, missing: list[str]) -> None:
        self.stamp_file.write_text(json.dumps({"state": state, "dev": dev, "missing": missing}), encoding="utf-8")

    def ready(self, dev: bool) -> bool:
        """True when the last installation was finished and nothing has changed since."""
        stamp, state = self.stamp(), self.state()
        return state is not None and stamp.get("state") == state and (not dev or stamp.get("dev") is True)

    def prepare(self, dev: bool = False, check: bool = False) -> None:
        """Install what is not there yet; `check` looks at everything even when the stamp says that all is well."""
        if not check and self.ready(dev):
            return
        with one_at_a_time(self.root / "pyproject.toml"):
            if not check and self.ready(dev):
                return  # another start did it while this one waited
            dev = dev or self.stamp().get("dev") is True
            begin = time.monotonic()
            self.make_venv()
            self.write_stamp(None, dev, [])  # should this be interrupted, the next start comes here again
            self.install(dev)
            self.write_stamp(self.state(), dev, missing_libraries(self.packages))
            say(f"MRF Studio is installed ({time.monotonic() - begin:.0f} s).")

    def make_venv(self) -> None:
        """Make .venv, again when it is damaged."""
        reason = self.damage()
        if reason is None:
            return
        if self.venv.exists():
            say(f"{self.venv} is damaged ({reason}): making it again.")
        import venv  # only here: it is slow to load

        try:
            # Without pip, because Debian keeps ensurepip in a package of its own; see `pip`.
            venv.EnvBuilder(clear=True, symlinks=os.name != "nt", prompt="mrfstudio").create(self.venv)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise LauncherError(
                f"{self.venv} cannot be made ({error}): remove it or make room, and start again."
            ) from None

    def damage(self) -> str | None:
        """Why .venv cannot be used as it is, or None."""
        if not self.python.exists():
            return "it has no Python"
        command = [str(self.python), "-I", "-c", PROBE, str(self.packages)]
        try:
            probe = subprocess.run(command, capture_output=True, text=True)
        except OSError:
            return "its Python does not start"
        return "its Python does not work" if probe.returncode else probe.stdout.strip() or None

    def pip(self) -> list[str]:
        """The command that runs pip on .venv: its own pip, or else that of the Python that runs this file."""
        own = [str(self.python), "-m", "pip"]
        if works([*own, "--version"]) or works([str(self.python), "-m", "ensurepip", "--default-pip"]):
            return own
        outer = [sys.executable, "-m", "pip", "--python", str(self.python)]
        if works([*outer, "--version"]):
            return outer
        advice = f": run `{as_root([*APT_INSTALL, 'python3-venv'])}`" if shutil.which("apt-get") else ""
        raise LauncherError(f"This Python has neither ensurepip nor pip, so nothing can be installed{advice}.")

    def install(self, dev: bool) -> None:
        """Torch first, in its CPU build where that is wanted and found; then the project with everything else."""
        install = [*self.pip(), "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
        if wants_cpu_torch():
            index = ["--extra-index-url", os.environ[TORCH_INDEX]] if os.environ.get(TORCH_INDEX) else []
            build = f"torch=={self.torch_version()}+cpu"
            # No dependencies: they come from the usual index, whatever else the other one holds.
            if run(f"Installing {build}", [*install, "--no-deps", *index, build], self.log) is not None:
                say("pip found no CPU build of torch, so several gigabytes of CUDA packages come with it; "
                    f"`python studio.py --help` says how {TORCH_INDEX} avoids them.")  # fmt: skip
        project = str(self.root) + ("[dev]" if dev else "")
        output = run("Installing MRF Studio", [*install, "--editable", project], self.log)
        if output is not None:
            errors = re.findall(r"^ERROR: .*", output, re.MULTILINE) or output.splitlines()
            raise LauncherError(
                "\n".join(["pip could not install MRF Studio:", *errors[-3:], f"All it said is in {self.log}."])
            )

    def torch_version(self) -> str:
        """The version that pyproject.toml, the one place, pins."""
        import tomllib  # only here: it is needed once in a hundred starts

        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return next(line.removeprefix("torch==") for line in project["dependencies"] if line.startswith("torch=="))

    def report_missing(self) -> None:
        """Say which system libraries Qt misses, until it has them."""
        stamp = self.stamp()
        if stamp.get("missing"):
            missing = missing_libraries(self.packages)
            self.write_stamp(self.state(), stamp.get("dev") is True, missing)
            if missing:
                say(missing_sentence(missing))

    def give_back(self) -> None:
        """After `sudo`, .venv belongs to the person who called it, so that later starts need no root."""
        if os.name != "nt" and os.geteuid() == 0 and "SUDO_UID" in os.environ:
            for path in [self.venv, *self.venv.rglob("*")]:
                os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]), follow_symlinks=False)


@contextlib.contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock on `path`: two first starts at once must not install into the same folder (Windows: not locked)."""
    with path.open("rb") as file:
        if os.name != "nt":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                say("Another start is installing MRF Studio: waiting for it.")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wants_cpu_torch() -> bool:
    """On Linux the ordinary build of torch depends on CUDA packages, and does not even import without them."""
    gpu = os.path.exists("/proc/driver/nvidia/version") or shutil.which("nvidia-smi")
    return sys.platform.startswith("linux") and not gpu
