"""The pieces of train.py; they need the extra ``train``.

| module | holds |
|---|---|
| ``settings`` | the options of train.py |
| ``networks`` | the actor and the critic, and their weights |
| ``all_hands`` | what a critic may see that no actor may: the hidden cards |
| ``self_play`` | the pool of past selves, drawn by difficulty |
| ``teaching``, ``lessons`` | the warm start: a teacher's choices, or what playouts tell |
| ``learning`` | MaskablePPO with its schedules |
| ``checkpoints`` | all that a run needs to go on; the callback that saves it |
"""
