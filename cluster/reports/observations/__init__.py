"""What a validation of a cluster's logs found, and what an exercise did: terminal, document, and the page of what is not
explained.
"""
