"""What commands share: options and output, specs by name, engines, the trace that a command is about."""
