"""What is known before anything is measured: the plan of a run, the work of a trial, the truth about a plant.

Pure functions of seeds and parameters; nothing of servers, of records or of statistics.
"""
