"""Where the programs are that tests and benches in Python run: `BIN`, from $QUOTIENT_BIN_DIR.

Without the variable a program that imports this ends with one line and status 2. Only `--help` works: for that no
program is run.
"""

import os
import pathlib
import sys


def folder():
    named = os.environ.get("QUOTIENT_BIN_DIR", "")
    if not named and not {"-h", "--help"}.intersection(sys.argv[1:]):
        print(f"{sys.argv[0]}: QUOTIENT_BIN_DIR is not set: it names the folder with the programs, such as "
              "$PWD/build/release/bin", file=sys.stderr)
        sys.exit(2)
    return pathlib.Path(named)


BIN = folder()
