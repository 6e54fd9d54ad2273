"""Makes the helper of this folder importable."""

from __future__ import annotations

import sys
from pathlib import Path

here = str(Path(__file__).parent)
if here not in sys.path:
    sys.path.insert(0, here)
