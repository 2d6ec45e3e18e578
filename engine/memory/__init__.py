"""What the agent has learnt: journal on disk, index in memory."""
