"""The client-go architecture for Python: the parts that Kubernetes controllers are made of.

Data flows one way: API server -> reflector -> queue of deltas -> informer -> indexer and
event handlers -> work queue -> workers -> API server. Each subpackage is one part of
that loop; import the one that you need (``clientgo.workqueue``, ``clientgo.cache``, ...). Importing
``clientgo`` itself loads nothing.
"""

__version__ = "0.2.0.dev0"
