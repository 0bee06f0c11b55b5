"""Pickle for other machines: what they cannot import travels by value.

Pickle names a function or class of a module and leaves its code behind. That is right for an
installed package, and wrong for a file next to the user's script, which a worker on another
machine, or with another `sys.path`, does not find.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import sysconfig
from types import ModuleType

import cloudpickle  # type: ignore[import-untyped]

from puffer_core.errors import APIUsageError

# Run in a fresh interpreter, with neither the script's folder nor PYTHONPATH on its path.
FIND = """
import importlib.util, json, sys
sys.path.pop(0)
specs = {name: importlib.util.find_spec(name) for name in json.load(sys.stdin)}
print(json.dumps({name: spec.origin for name, spec in specs.items() if spec}))
"""


def dumps(value: object) -> bytes:
    """Pickle a value together with the code of local modules that it refers to.

    Raises:
        APIUsageError: Something in it cannot be pickled.
    """
    before = cloudpickle.list_registry_pickle_by_value()
    modules = [module for module in local_modules() if module.__name__ not in before]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise APIUsageError(
            f"The creators and their arguments must be picklable to reach the workers: {error!r}. "
            "Modules that are not installed travel with them; what these hold counts too."
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def local_modules() -> list[ModuleType]:
    """Return the imported modules that a fresh interpreter of this environment does not find."""
    files: dict[str, str | None] = {}
    modules = []
    installed = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if (
            isinstance(module, ModuleType)
            and module.__name__ == name  # no alias
            and (file or hasattr(module, "__path__"))
            and not (file or "").startswith(installed)
            and top not in sys.stdlib_module_names
            and top != "__main__"  # always by value
        ):
            files[top] = getattr(sys.modules.get(top), "__file__", None)
            modules.append(module)
    found = json.loads(_find(json.dumps(sorted(files))))
    # Another file of the same name may be installed, hence the comparison.
    local = {top for top, file in files.items() if top not in found or not _same(found[top], file)}
    return [module for module in modules if module.__name__.partition(".")[0] in local]


def _same(a: str | None, b: str | None) -> bool:
    return a == b or bool(a and b and os.path.realpath(a) == os.path.realpath(b))


@functools.cache
def _find(names: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, "-c", FIND]
    result = subprocess.run(
        command, input=names, env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout
