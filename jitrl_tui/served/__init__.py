"""The app in a browser, by textual-serve (the extra `serve`)."""
