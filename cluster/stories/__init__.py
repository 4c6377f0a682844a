"""A topic on a running cluster, the steps of stories, each of which ends by an observation, and how a story ended; stories
of librdkafka.

Floor 4.
"""
