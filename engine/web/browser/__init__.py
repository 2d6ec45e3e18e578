"""The browser: limits on what it may request, reading pages, and acting on them."""
