"""Write the vectors anew: python -m conformance."""

from __future__ import annotations

from conformance.vectors import FILES, FOLDER, text

for name in FILES:
    (FOLDER / name).write_text(text(name))
    print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")
