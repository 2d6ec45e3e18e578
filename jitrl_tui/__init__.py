"""The user interfaces: command line, Textual screens and plain terminal."""

from jitrl_start import own

own("engine")  # also where another folder of that name comes first on the path
