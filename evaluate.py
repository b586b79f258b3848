"""Play agents: ``python evaluate.py --help``. See `pocket_uno_env.evaluation.program`."""

import sys

from pocket_uno_env.cli.program import run_program


def main() -> int:
    """Run the program; its exit status. Imported here, where Ctrl-C is no traceback."""
    from pocket_uno_env.__main__ import main

    return main(["evaluate", *sys.argv[1:]])


if __name__ == "__main__":
    run_program(main)
