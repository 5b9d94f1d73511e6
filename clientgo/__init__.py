"""The client-go architecture for Python: the parts that Kubernetes controllers are made of.

Data goes one way round: API server -> reflector -> queue of deltas -> informer -> indexer and
event handlers -> work queue -> workers -> API server. Each room of this package is one part of
that loop; import the room you need (``clientgo.workqueue``, ``clientgo.cache``, ...). Importing
``clientgo`` itself loads nothing.
"""

__version__ = "0.1.0"
