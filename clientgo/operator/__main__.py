"""``python -m clientgo.operator``: the same as ``clientgo operator``."""

import sys

from clientgo.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["operator", *sys.argv[1:]]))
