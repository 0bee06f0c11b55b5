"""`python -m puffer_ocean [NAME...]`: build the environments named, or all, in place."""

import sys

from puffer_ocean.build import BuildError, build_all


def main() -> int:
    """Build, print what compilers say of those that fail; exit code 1 if one fails."""
    try:
        failures = build_all(sys.argv[1:])
    except BuildError as error:
        failures = {"": str(error)}
    for message in failures.values():
        print(message, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
