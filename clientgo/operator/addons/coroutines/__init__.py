"""Coroutines in operators: one event loop for each manager, and a client whose calls await.

Imported when the first controller, source or webhook of a manager is declared with ``async def``.
"""

from clientgo.operator.addons.coroutines.client import AsyncClient, AsyncSubresource
from clientgo.operator.addons.coroutines.event_loop import EventLoop, LoopTask

__all__ = ["AsyncClient", "AsyncSubresource", "EventLoop", "LoopTask"]
