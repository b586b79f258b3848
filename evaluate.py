"""Play agents: ``python evaluate.py --help``. See `pocket_uno_env.evaluation.program`."""

from pocket_uno_env.cli.program import run_program
from pocket_uno_env.evaluation.program import main

if __name__ == "__main__":
    run_program(main)
