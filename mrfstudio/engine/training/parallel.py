"""The border between one process and several: everything that data-parallel training replaces.

    torchrun --nproc_per_node=2 -m mrfstudio train …

Every process computes its own rows of each batch, gradients are added up, and all take the same step: the loss curve is
that of one process, to rounding. `process_group()` gives the right border for how the program was started.
"""

from __future__ import annotations

import atexit
import json
import math
import os
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.training.progress import TrainingError

ADDRESS = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells each process."""


class OneProcess:
    """One process. A data-parallel run derives from this and replaces `all_reduce` and `broadcast`.

    Every process computes its own rows of each batch and then holds the same gradient, so all of them take the same
    step; only rank 0 reads the clock, listens to commands, writes files and prints.
    """

    rank: int = 0
    size: int = 1

    def rows(self, items: int, together: int = 1) -> slice:
        """The positions of a batch that this process computes: consecutive, and as even as possible.

        Items that a learner works on `together` stay in one process, in the groups that one process would make.
        """
        groups = math.ceil(items / together)
        if groups < self.size:
            return slice(0, items)  # too few to share: all compute all, and the mean is the same
        first, last = groups * self.rank // self.size, groups * (self.rank + 1) // self.size
        return slice(first * together, min(last * together, items))

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """The sum of the tensor, of any shape (…), over all processes."""
        return tensor

    def broadcast(self, value: Any) -> Any:
        """The value that rank 0 gave; it must be ready for JSON."""
        return value


class ManyProcesses(OneProcess):
    """One of several processes that torch.distributed has joined. Values travel as JSON: torch would pickle them."""

    def __init__(self) -> None:
        from torch import distributed

        self._distributed = distributed
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def all_reduce(self, tensor: Tensor) -> Tensor:
        total = tensor.detach().clone()
        self._distributed.all_reduce(total)
        return total

    def broadcast(self, value: Any) -> Any:
        written = json.dumps(value).encode() if self.rank == 0 else b""
        length = torch.tensor([len(written)])
        self._distributed.broadcast(length, 0)
        data = torch.zeros(int(length), dtype=torch.uint8)
        if self.rank == 0:
            data.copy_(torch.frombuffer(bytearray(written), dtype=torch.uint8))
        self._distributed.broadcast(data, 0)
        return json.loads(bytes(data.tolist()))


def started_rank() -> int:
    """The rank that torchrun gave this process; 0 for one that was started alone."""
    return int(os.environ["RANK"]) if _several() else 0


def _several() -> bool:
    return all(name in os.environ for name in ADDRESS) and int(os.environ["WORLD_SIZE"]) > 1


def process_group() -> OneProcess:
    """The border for this process, alone or joined to those that torchrun started beside it."""
    if not _several():
        return OneProcess()
    from torch import distributed

    if not distributed.is_available():
        raise TrainingError("This build of torch cannot join processes: start the training without torchrun.")
    if not distributed.is_initialized():
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        # gloo for what lies in main memory, NCCL for what lies on a GPU: each tensor takes the one of its device.
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and distributed.is_nccl_available() else "gloo"
        store, rank, size = next(rendezvous("env://"))
        # torchrun keeps one store for every restart: without a prefix, a process would find the addresses of those
        # that were killed and be refused there.
        attempt = PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        distributed.init_process_group(backend, store=attempt, rank=rank, world_size=size)
        # Once for a process: processes that part and meet again at the same address wait for each other for ever.
        atexit.register(distributed.destroy_process_group)
    return ManyProcesses()
