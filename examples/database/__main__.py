"""``python -m examples.database``: the operator; ``--demo`` brings a cluster along."""

from __future__ import annotations

from examples.database.main import main

if __name__ == "__main__":
    main()
