"""Train an agent: ``python train.py --help``. See `pocket_uno_env.training.program`."""

from pocket_uno_env.cli.program import run_program
from pocket_uno_env.training.program import main

if __name__ == "__main__":
    run_program(main)
