"""What every floor uses: errors, files, names, releases. Nothing here knows a protocol, an engine or Kafka's settings.

Floor 1.
"""
