"""The learner without a screen: records, Algorithm 1, memory, games, models, agents and the session loop."""
