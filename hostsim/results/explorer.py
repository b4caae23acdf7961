"""Explorer of results as a value: a page that a notebook shows and a file keeps."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from hostsim.config.files import write_whole

__all__ = ["Explorer"]

_HEIGHT = 900
"""Height of the page in a notebook, in pixels."""


@dataclass(frozen=True, repr=False)
class Explorer:
    """An explorer of results: a notebook shows it, `save` writes it."""

    title: str
    html: str
    """The page."""

    def save(self, path: str | Path) -> Path:
        """Write the page; returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        return write_whole(Path(path), self.html.encode())

    def _repr_html_(self) -> str:
        words = html.escape(f"Explorer of {self.title}")
        frame = f'<iframe title="{words}" style="width: 100%; height: {_HEIGHT}px; border: 0"'
        return f'{frame} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<Explorer of {self.title}>"
