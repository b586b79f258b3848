"""The game behind the interfaces of other libraries, a module for each.

aec, aec_wrapped
    PettingZoo's AEC environment, every seat an agent, raw and as `pocket_uno_v0.env` makes it.
gym, gym_vector
    Gymnasium: one seat against agents, a single game and a compiled vector of games.
sb3
    Stable-Baselines3: the same games as a native ``VecEnv``.
torchrl
    TorchRL: the same games as a batched ``EnvBase``.
rllib, rllib_batch
    Ray RLlib: the AEC environment with a masked network, and an env runner on the compiled batch.
openspiel
    OpenSpiel: the game with explicit chance nodes (``openspiel.game``), its bots as agents and
    agents as its bots (``openspiel.bots``).

Each of these needs its library; importing this package needs none. They share `learner_games`,
`learner_books`, `learner_kernels` and `reset_options`; `registration` makes ids known to PettingZoo
and Gymnasium.
"""
