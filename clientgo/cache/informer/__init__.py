"""From a queue of changes to the store and the event handlers."""
