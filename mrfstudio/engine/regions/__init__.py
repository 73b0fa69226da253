"""Region graphs: cycle bases, closure under intersection, counting numbers, and their tables as flat tensors."""
