"""release.py DIST: one version everywhere, told in CHANGELOG.md, tagged; prints what is left to do and publishes nothing."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def complaints(dist):
    version = re.search(r'__version__ = "(.+)"', (ROOT / "crftrain" / "__init__.py").read_text(encoding="utf-8"))[1]
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M):
        yield f"CHANGELOG.md has no section '## {version} (date)'"
    if not re.search(r'^\[project.urls\]\nSource = "https://.+"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M):
        yield 'pyproject.toml has no [project.urls] that begins with Source = "https://...": where the project is to be found'
    for file in dist.iterdir():
        if not file.name.startswith(f"crftrain-{version}"):
            yield f"{file} is of another version than {version}"
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()  # noqa: E731
    if git("status", "--porcelain"):
        yield "the work tree has changes that are not committed"
    if f"v{version}" not in git("tag", "--points-at", "HEAD").split():
        yield f"this commit has no tag v{version}"


if __name__ == "__main__":
    found = list(complaints(Path(sys.argv[1])))
    print("\n".join(found) or "ready: upload dist/ (twine upload dist/*)")
    sys.exit(bool(found))
