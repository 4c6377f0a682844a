"""Bounded model checking, induction, suggested conjuncts, variants against properties; for all constants: releases against
promises, and guards that are left out.

Floor 9.
"""
