"""A long random run of the library against an API server that fails.

    python -m tests.soak --minutes 60 --seed 1

Each round starts a server, clients of every sort and writers, and injects faults. Whenever the
faults pause, what the clients have must be what the server has. The seed decides what is started
and which faults happen; the order in which threads run is not repeated.
"""
