"""Under pytest the notebooks play few games, so that they only show that they run."""

import os

os.environ.setdefault("POCKET_UNO_SHORT", "1")
