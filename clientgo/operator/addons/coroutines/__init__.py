"""Coroutines in operators: one event loop for each manager, and a client whose calls await.

Imported when the first controller, source or webhook of a manager is declared with ``async def``.
What does not belong to operators is in ``clientgo.aio``.
"""

from clientgo.operator.addons.coroutines.client import AsyncLiveClient, AsyncSubresource
from clientgo.operator.addons.coroutines.operator_loop import OperatorLoop

__all__ = ["AsyncLiveClient", "AsyncSubresource", "OperatorLoop"]
