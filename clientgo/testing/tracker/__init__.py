"""The objects behind a fake client: versions, patches, field ownership and watches.

They are not in the embedded API server, although that runs without sockets too. Measured together,
in CPU time: a fake starts in 0.2 ms (the server 7.5 ms; the first one 2 and 40 ms), a write takes
0.1 to 0.3 ms (0.8 to 1.5 ms), a small unit test 1.7 ms (14 ms; the first of a process 10 and
200 ms). A fake needs no extra package, and takes the incomplete objects of unit tests.

What can be shared is: patches, field ownership and types are those of ``clientgo.testcluster``.
"""
