"""A fuzzer of the API server in another process.

    python -m tests.testcluster.server.fuzz --minutes 60 --seed 1

The requests of a round depend on the seed and its number only, so a round can be sent again.
"""
