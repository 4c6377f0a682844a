"""What is written once in a subset of Python that is translated to LLVM IR: the visited sets and the loops over them.

The loops of searches, traces, random runs and searches over several processes; `checker/native` says how they work together.

Floor 3.
"""
