"""Plays the cells of a run on a Ray cluster, or on a Ray that is started for it on this machine.

Ray is imported when a run asks for it, and not before. `ray_cluster.py` is the way in.
"""
