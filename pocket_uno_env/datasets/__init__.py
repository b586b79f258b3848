"""Datasets for offline learning: what seats saw, did and earned in games between agents.

| module | holds |
|---|---|
| `transitions` | played games as transitions, seat by seat |
| `npz` | npz files: `load_dataset`, batches |
| `minari_format` | datasets for Minari |
| `write` | plays a plan and writes it, split by split |
| `program` | ``pocket-uno dataset`` |
"""

from .npz import Dataset, DatasetError, load_dataset

__all__ = ["Dataset", "DatasetError", "load_dataset"]
