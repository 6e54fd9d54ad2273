"""Makes the helpers of this folder and of the one above importable."""

from __future__ import annotations

import sys
from pathlib import Path

here = Path(__file__).parent
for folder in (here, here.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
