"""The test suites of other clients, run against the embedded API server.

`suites.yaml` says which packages carry a suite and what it needs; `suite` runs it; `plugin` stands
in for the cluster that the suite would start.
"""
