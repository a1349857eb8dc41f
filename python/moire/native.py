"""Imports the compiler, moire_native, from the path or from a build folder of this package's checkout."""

import pathlib
import sys

try:
    import moire_native
except ImportError as absent:
    _builds = pathlib.Path(__file__).resolve().parents[2] / "build"
    _python = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    _found = [_builds / preset / "python" for preset in ("release", "dev")]
    _found = [folder for folder in _found if any(folder.glob(f"moire_native.{_python}*.so"))]
    if not _found:
        raise ImportError(
            f"moire_native for {_python} is neither on the path nor in {_builds}: 'scripts/build release moire_native' "
            "makes it for Debian's /usr/bin/python3"
        ) from absent
    sys.path.append(str(_found[0]))
    import moire_native

__all__ = ["moire_native"]
