"""A training under torchrun one of whose processes is killed once. torchrun starts all again, and they go on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from mrfstudio.engine.training.command import train_command

OPTIONS = dict(side=3, count=80, validation=8, test=2, batch_size=10, epochs=2)


def train(out: Path, kill_at: int | None = None) -> dict[str, Any]:
    """Train, going on where a checkpoint is; `kill_at` ends this process without a word in the first round."""
    killed, polls = out.with_suffix(".killed"), 0

    def poll() -> list[dict[str, Any]]:
        nonlocal polls
        polls += 1
        if kill_at is not None and polls == kill_at and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return []

    resume = out.with_suffix(".train.safetensors").exists()
    return train_command("ising", "cd", "ising", out, resume=resume, poll=poll, checkpoint_seconds=0.0, **OPTIONS)


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]))
