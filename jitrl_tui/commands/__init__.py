"""The subcommands, one file each. `register` must stay light: it runs for `jitrl --help`."""
