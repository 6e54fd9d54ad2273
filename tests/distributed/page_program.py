"""Runs the code of docs/distributed.md."""

import re
from pathlib import Path

page = (Path(__file__).resolve().parents[2] / "docs" / "distributed.md").read_text()
blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
assert len(blocks) >= 4
exec(compile("\n".join(blocks), "docs/distributed.md", "exec"), {})
print("good")
