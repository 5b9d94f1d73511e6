"""Part of :mod:`clientgo.workloads`."""
