"""Parts of client-go's public surface that nothing in this library uses.

They are here for programs that are ported from Go. New code does not need them.
"""
