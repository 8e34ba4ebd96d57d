"""Deletes files and folders that others may be deleting or filling at the same time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def remove(path: Path) -> None:
    """Delete a file, or a folder with all in it; nothing when it is gone, or goes meanwhile.

    Raises:
        OSError: it can't be deleted.
    """
    while True:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            return
        except FileNotFoundError:  # something in it, or all of it
            if not os.path.lexists(path):
                return


def last_changed(path: Path) -> float | None:
    """When a file or folder was last changed, in seconds since 1970; None when it is gone."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return None
