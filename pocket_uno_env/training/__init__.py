"""The pieces of train.py; they need the extra ``train``.

| module | holds |
|---|---|
| ``settings`` | the options of train.py |
| ``networks`` | the actor and the critic, and their weights |
| ``all_hands`` | shows the critic what no actor may see: the hidden cards |
| ``self_play`` | the pool of past selves, drawn by difficulty |
| ``imitation``, ``lookahead`` | what comes before PPO: a teacher's choices; all actions tried |
| ``learning`` | MaskablePPO with its schedules |
| ``checkpoints`` | all that a run needs to go on; the callback that saves it |
"""
