"""Values as text, as Go and Kubernetes read and write them.

Messages, patterns and formats of the API contain this text: durations, URIs, string formats,
regular expressions, and values as Go prints them.
"""
