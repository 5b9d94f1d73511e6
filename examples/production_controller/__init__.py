"""The sample controller as it runs in production.

Two replicas with leader election, or several processes that share the Foos; probes, metrics,
traces, JSON logs, limits of requests; ``deploy`` has its Deployment and roles. What it does to a
Foo is ``sample_controller``'s.
"""
