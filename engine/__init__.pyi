from engine.library import Play as Play
from engine.library import Player as Player
from engine.library import make_agent as make_agent
from engine.library import open_environment as open_environment
from engine.library import open_memory as open_memory
from engine.library import open_play as open_play
from engine.library import play_episodes as play_episodes
