"""The subcommands, one file each. `register` must be fast, because it runs for `jitrl --help`."""
