"""Play agents: ``python evaluate.py --help``. See `pocket_uno_env.evaluation.program`."""

from pocket_uno_env.cli.program import run_program


def main() -> int:
    """Run the program; its exit status. Imported here, where Ctrl-C is no traceback."""
    from pocket_uno_env.evaluation.program import main

    return main()


if __name__ == "__main__":
    run_program(main)
