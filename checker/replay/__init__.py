"""A given run, followed by the plain evaluator: traces, other tools' traces, lassos, why a clause is false.

Floor 8.
"""
