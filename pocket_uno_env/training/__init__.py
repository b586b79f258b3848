"""Training, with the extra ``train``; `program` is train.py.

| module | holds |
|---|---|
| `program` | the program, from its options to the evaluation at the end |
| `settings` | its options, and the ranges of their values |
| `ppo` | MaskablePPO as it is used here, and its schedules |
| `initial` | starting from the weights of a network that is there |
| `networks` | the actor and the critic, and their weights |
| `all_hands` | the hidden cards, for a critic with perfect information |
| `imitation` | behavioral cloning of a teacher, before PPO |
| `lookahead` | the advantage of every legal action from copies of the game, before PPO |
| `reward_scale` | how large rewards are |
| `self_play` | the pool of past selves, the harder ones drawn more often |
| `rollout_buffer` | sb3-contrib's rollout buffer in less memory |
| `checkpoints` | the complete state of a run; saving and resuming it |
| `curves` | TensorBoard's files, written synchronously |
| `final_evaluation` | matches at the end, and what PPO gained |
| `belief` | a program: trains the belief network of search |
| `tune` | a program: tunes the weights of the `strong` heuristic |
| `publish` | a program: puts a trained network among those of the package |
| `export_onnx` | a program: writes a trained network as an ONNX file |
"""
