"""Part of :mod:`clientgo.testcluster.workloads`."""
