"""What commands share: options, specs by name, engines, the run that a command is about."""
