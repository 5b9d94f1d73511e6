"""Validation rules in CEL (``x-kubernetes-validations``): types, costs and evaluation."""
