"""How a question is decided: native kernel, local search, traces, spec files. Nothing here prints.

Floor 4.
"""
