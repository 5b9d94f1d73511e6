"""Why is nothing happening? A page of what goes on in a process.

::

    page = DebugPage()
    page.add_queue(queue)
    page.add_informers(lambda: factory.informers().values())
    Server("127.0.0.1:8080", {DEBUG_PATH: page.respond})

``/debug/clientgo`` shows queues, informers and the stacks of all threads, ``/debug/clientgo/KEY``
what one key waits for. ``clientgo debug URL [KEY]`` prints them. ``Manager(debug=True)`` and
``ControlLoop(debug=True)`` have such a page beside their metrics. It shows names of objects, error
messages and source lines to all who can reach it.
"""

from clientgo.observe.debug.page import DEBUG_PATH, DebugPage, informer_summary
from clientgo.observe.debug.stacks import thread_stacks

__all__ = ["DEBUG_PATH", "DebugPage", "informer_summary", "thread_stacks"]
