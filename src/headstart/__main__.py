"""`python -m headstart` is the command line."""

import sys

from headstart.cli.main import main

sys.exit(main())
