"""Events that carry the number of their repetitions (events.k8s.io/v1)."""
