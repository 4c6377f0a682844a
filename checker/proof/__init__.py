"""Bounded model checking, induction, suggested conjuncts, variants against properties."""
