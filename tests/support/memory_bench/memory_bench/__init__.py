"""A stand-in for the package `memory_bench` of vectorize-io/agent-memory-benchmark, which is on no package index.

Names, arguments and order of calls are the harness's (seen at its commit de83fa7); the words are ours, and so are the few lines
behind each name. With AMB_CHECKOUT the tests take a clone of the harness in its place.
"""
