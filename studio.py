#!/usr/bin/env python3
"""Sets MRF Studio up and starts it. Needs nothing but Python 3.11 or newer.

python studio.py                  open the studio; the first start installs it into .venv, beside this file
python studio.py test [...]       install, then run the tests; what follows goes to pytest
python studio.py setup            only prepare, and mend what is damaged
    --system                      also install, as root on Debian, the system libraries that Qt needs
    --dev                         also install the tools of the tests and checks
python studio.py ANYTHING ELSE    the same as `mrfstudio ANYTHING ELSE`

MRFSTUDIO_TORCH_INDEX may name a package index that has CPU builds of torch. On Linux without an NVIDIA GPU they are
used where pip can find them, because the ordinary build brings several gigabytes of CUDA packages.
"""

# No newer syntax than Python 3.7's: an old Python must get as far as the sentence in `main`.
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrfstudio.launcher.environment import Environment

OLDEST_PYTHON = (3, 11)


def main(arguments: list[str]) -> int:
    if sys.version_info < OLDEST_PYTHON:
        found = ".".join(map(str, sys.version_info[:3]))
        sys.stderr.write(f"MRF Studio needs Python 3.11 or newer, not {found}: run it as `python3.11 studio.py`.\n")
        return 1
    from mrfstudio.launcher.environment import Environment
    from mrfstudio.launcher.progress import LauncherError, say

    environment = Environment(Path(__file__).resolve().parent)
    command = arguments[0] if arguments else ""
    if command in ("-h", "--help"):
        print(__doc__, flush=True)
        if not environment.ready(dev=False):
            return 0  # help must not begin with an installation
    try:
        if command == "setup":
            return setup(environment, arguments[1:])
        environment.prepare(dev=command == "test")
        if command in ("", "test"):
            environment.report_missing()
    except LauncherError as reason:
        say(str(reason))
        return 1
    except OSError as problem:  # a full disk, a folder that may not be written
        say(f"MRF Studio cannot be prepared in {environment.root}: {problem.strerror or problem}.")
        return 1
    except KeyboardInterrupt:
        say("Interrupted: the next start takes it up again.")
        return 130
    if command == "test":
        os.chdir(environment.root)
        # The whole suite uses every core; single tests are quicker without waiting for workers.
        chosen = arguments[1:] or ["-n", "auto", "--dist", "worksteal"]
        return become([str(environment.python), "-m", "pytest", *chosen])
    # -P: a file in the person's folder must not stand in for a module of the same name.
    return become([str(environment.python), "-P", "-m", "mrfstudio", *arguments])


def setup(environment: Environment, options: list[str]) -> int:
    """Look at everything and mend what is damaged; with `--system` also install what Qt needs from the system."""
    from mrfstudio.launcher import system_libraries
    from mrfstudio.launcher.progress import LauncherError

    for option in options:
        if option not in ("--system", "--dev"):
            raise LauncherError(f"`setup` got {option!r}: expected --system, --dev or nothing.")
    system = "--system" in options and sys.platform.startswith("linux")
    if system:
        system_libraries.install_python_parts()
    environment.prepare(dev="--dev" in options, check=True)
    environment.give_back()
    if system:
        system_libraries.install_libraries(environment.packages)
    environment.report_missing()
    return 0


def become(command: list[str]) -> int:
    """Go on as `command`, with the same standard streams, signals and exit status."""
    if os.name == "nt":  # there, exec would return to the shell at once
        return subprocess.call(command)
    return os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
