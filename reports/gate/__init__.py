"""The gate for people and CI: terminal, JSON, JUnit, SARIF, job summary, annotations.

Floor 4.
"""
