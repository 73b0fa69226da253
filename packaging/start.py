"""The first file of the bundle: jobs and pools start it again as their child, so that comes first."""

import multiprocessing
import sys

if __name__ == "__main__":
    multiprocessing.freeze_support()
    words = [word for word in sys.argv[1:] if word != "-P"]
    if words[:1] == ["-m"]:  # a job's child, started as `python -P -m module …`
        import runpy

        module = words[1]
        sys.argv = words[1:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        from mrfstudio.cli import main

        sys.exit(main())
