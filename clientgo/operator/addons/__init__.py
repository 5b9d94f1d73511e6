"""What builds on the core of the operator layer: the core works, and can be read, without it.

dependents   objects that are described rather than written
tasks        methods that run as long as an object exists
changes      what has changed since the last run that succeeded
polling      sources for what has no watch
coroutines   reconcilers, sources and webhooks with ``async def``, in the loop of clientgo.aio
"""
