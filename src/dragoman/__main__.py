"""`python -m dragoman` is the command `dragoman`."""

import sys

from dragoman.cli.main import main

sys.exit(main())
