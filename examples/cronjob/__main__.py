"""``python -m examples.cronjob``: the operator; ``--demo`` brings a cluster along."""

from __future__ import annotations

from examples.cronjob.main import main

if __name__ == "__main__":
    main()
