"""What reaches the terminal and the logs, work in the background, and the end of the process."""
