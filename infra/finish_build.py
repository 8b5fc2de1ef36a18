"""Finishes the output of `sam build`: compiles it, checks its contents and prints the sizes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYER = "TaskmillLayer"
PYTHON = "python3.13"  # bytecode is valid for one version only: that of the runtime
LARGEST_KIB = 250 * 1024  # layer and function together
# Offset of the machine type in an ELF file.
_MACHINE_AT = slice(18, 20)
_AARCH64 = b"\xb7\x00"
# Files that tools need and functions never read.
IDLE = (
    "*.pyi",
    "py.typed",
    "requirements.*",
    "function.yaml",
    "functions/gateway/description/*.py",
    "*.dist-info/sboms/*",
)


def strays(bundle: Path, root: Path) -> list[str]:
    """Return what a bundle contains beyond the function's own folder and its requirements."""
    required = set(_required(bundle))
    paths = (path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file())
    files = [path for path in paths if str(path) not in required]
    homes = {path.parent for path in files if path.name == "handler.py"}
    if len(homes) != 1:
        return [f"the handlers of {len(homes)} functions"]
    own = [path for path in files if homes & set(path.parents) and (root / path).is_file()]
    return [str(path) for path in files if path not in own]


def _required(bundle: Path) -> Iterator[str]:
    """Yield the files that came with the function's own requirements."""
    for record in bundle.glob("*.dist-info/RECORD"):
        for line in record.read_text().splitlines():
            yield line.split(",")[0]


def foreign(folder: Path) -> list[str]:
    """Return the libraries that were not built for arm64."""
    libraries = (path for path in folder.rglob("*.so*") if path.is_file())
    return [
        str(path.relative_to(folder))
        for path in libraries
        if path.read_bytes()[_MACHINE_AT] != _AARCH64
    ]


def strip(folder: Path) -> None:
    for pattern in IDLE:
        for path in folder.rglob(pattern):
            path.unlink()


def compile_all(folder: Path) -> None:
    """Write unchecked bytecode, which is never compared with its source: a layer is read-only."""
    mode = ("--invalidation-mode", "unchecked-hash")
    subprocess.run([PYTHON, "-m", "compileall", "-q", "-f", *mode, str(folder)], check=True)  # noqa: S603 - only our own arguments


def kibibytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1024


def complaints(build: Path, bundles: list[Path]) -> Iterator[str]:
    for bundle in bundles:
        if strange := strays(bundle, ROOT):
            yield f"{bundle.name} contains files other than its own code: {', '.join(strange)}"
        if kibibytes(build / LAYER) + kibibytes(bundle) > LARGEST_KIB:
            yield f"{bundle.name} and {LAYER} exceed Lambda's limit of {LARGEST_KIB:,} KiB"
    for folder in (build / LAYER, *bundles):
        if others := foreign(folder):
            yield f"{folder.name} contains libraries not built for arm64: {', '.join(others)}"


def main() -> int:
    build = Path(sys.argv[1])
    bundles = sorted(path.parent for path in build.glob("*/functions"))
    problems = list(complaints(build, bundles))
    for folder in (build / LAYER, *bundles):
        strip(folder)
        compile_all(folder)
        print(f"{folder.name:<16}{kibibytes(folder):>10,.0f} KiB")
    print("\n".join(problems), end="\n" if problems else "")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
