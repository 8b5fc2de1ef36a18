"""Finishes what `sam build` made: compiles it, checks what is in it, and prints how large it is."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYER = "TaskmillLayer"
PYTHON = "python3.13"  # bytecode belongs to one version: that of the runtime
LARGEST_MIB = 250  # what Lambda unpacks at most, layer and function together
# What tools need and a function never reads.
IDLE = ("*.pyi", "py.typed", "requirements.txt", "function.yaml", "*.dist-info/sboms/*")


def strays(bundle: Path, root: Path) -> list[str]:
    """Return what a function's bundle holds beside the function's own folder."""
    files = [path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file()]
    homes = {path.parent for path in files if path.name == "handler.py"}
    if len(homes) != 1:
        return [f"the handlers of {len(homes)} functions"]
    return [str(path) for path in files if path.parent not in homes or not (root / path).is_file()]


def strip(folder: Path) -> None:
    for pattern in IDLE:
        for path in folder.rglob(pattern):
            path.unlink()


def compile_all(folder: Path) -> None:
    """Write bytecode that is never compared with its source: a layer is read-only."""
    mode = ("--invalidation-mode", "unchecked-hash")
    subprocess.run([PYTHON, "-m", "compileall", "-q", "-f", *mode, str(folder)], check=True)  # noqa: S603 - our own words


def mebibytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


def main() -> int:
    build = Path(sys.argv[1])
    bundles = sorted(path.parent for path in build.glob("*/functions"))
    found = {bundle.name: strays(bundle, ROOT) for bundle in bundles}
    for folder in (build / LAYER, *bundles):
        strip(folder)
        compile_all(folder)
        print(f"{folder.name:<20} {mebibytes(folder):7.2f} MiB")
    for name, strange in found.items():
        if strange:
            print(f"the bundle of {name} holds more than its own code: {', '.join(strange)}")
    is_too_large = mebibytes(build / LAYER) > LARGEST_MIB
    if is_too_large:
        print(f"the layer is larger than the {LARGEST_MIB} MiB that Lambda unpacks")
    return int(is_too_large or any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
