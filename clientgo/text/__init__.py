"""Values as text, as Go and Kubernetes read and write them.

The API shows this text (in messages, in patterns, in formats), so that every package that checks
objects needs the same reading: durations, URIs, string formats, regular expressions, and how Go
prints a value.
"""
