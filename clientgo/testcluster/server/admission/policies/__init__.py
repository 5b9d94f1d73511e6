"""Admission policies: CEL expressions that refuse or change writes, stored as objects.

ValidatingAdmissionPolicy ──┐                        ┌── params
MutatingAdmissionPolicy  ───┼─► binding ─► matches? ─┴─► expressions ─► deny, warn, change
*Binding ───────────────────┘
"""
