"""The house stands: no member imports from one above it, and importing is cheap."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parent.parent / "packages"
ORDER = ["puffer_core", "puffer_vector", "puffer_ocean", "puffer_cuda", "puffer_protein"]
MAY_IMPORT = {
    "puffer_core": set(),
    "puffer_vector": {"puffer_core"},
    "puffer_ocean": {"puffer_core"},
    "puffer_cuda": {"puffer_core", "puffer_vector", "puffer_ocean"},
    "puffer_protein": set(),
    "puffer_cli": set(ORDER),
    "pufferlib": {*ORDER, "puffer_cli"},
}


def imported(source):
    """Top-level names of everything that a source imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("member", MAY_IMPORT)
def test_no_import_points_up(member):
    (folder,) = PACKAGES.glob(f"*/src/{member}")
    files = sorted(folder.rglob("*.py"))
    assert files
    for path in files:
        members = imported(path.read_text()) & set(MAY_IMPORT) - {member}
        upwards = members - MAY_IMPORT[member]
        assert not upwards, f"{path} imports {upwards}"


def test_the_check_sees_an_import_inside_a_function():
    assert imported("def f():\n    from puffer_cli.main import main") == {"puffer_cli"}


@pytest.mark.parametrize(
    "statement",
    ["import pufferlib", "import puffer_core, puffer_vector, puffer_ocean", "import puffer_cuda"],
)
def test_importing_needs_no_torch(statement):
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert "torch" not in json.loads(result.stdout)


@pytest.mark.parametrize("member", sorted(PACKAGES.glob("puffer-*")), ids=lambda path: path.name)
def test_every_member_is_complete(member):
    import_name = member.name.replace("-", "_")
    for part in ("pyproject.toml", "README.md", f"src/{import_name}/py.typed"):
        assert (member / part).exists(), part
    assert "```" in (member / "README.md").read_text()
