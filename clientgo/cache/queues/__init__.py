"""What passes between a reflector and an informer: queues of changes."""
