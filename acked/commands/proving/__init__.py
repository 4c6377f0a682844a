"""The programs behind `acked prove`, and which of its options go together.
"""
