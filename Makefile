# Two commands matter: `make train` and `make test`. Both build .venv first if it is missing or stale.
# GNU make 4.3, Python 3.11 or later; nothing else needs to be installed beforehand.

PYTHON ?= python3
ARGS   ?=
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TYPES  := build/types

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup train test lint tree types format docs results weights scripted ladders figures \
	equity openspiel exploit ablation soak bench bench-check test-notebooks test-ecosystem clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; \
	do printf '  make %-16s %s\n' "$$name" "$$text"; done
	@echo "Extra arguments: make train ARGS='--steps 2000000 --seed 1', make test ARGS='-k deal'"

setup: $(STAMP) ## Build .venv with the train and dev extras, at the versions of constraints.txt

# The stamp is written last: an installation that was interrupted is taken up again.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo 'Building $(VENV); this takes a few minutes, once.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,dev]'
	@touch $@

train: $(STAMP) ## Train an agent for UNO Pocket and print its win rates
	$(BIN)/python train.py $(ARGS)

test: lint ## Lint, check types, run the tests
	$(BIN)/python -m pytest -n 2 $(ARGS)

lint: $(STAMP) types ## Ruff's rules, its formatting, and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# agents/ is installed as pocket_uno_env.agents, a mapping that mypy and mkdocstrings do not know:
# they are shown a tree of links that looks like the installed package.
tree:
	@rm -rf $(TYPES) && mkdir -p $(TYPES)/pocket_uno_env
	@ln -s '$(CURDIR)'/pocket_uno_env/* '$(CURDIR)/agents' $(TYPES)/pocket_uno_env/
	@ln -s '$(CURDIR)/train.py' '$(CURDIR)/evaluate.py' $(TYPES)/

types: $(STAMP) tree ## Check types
	cd $(TYPES) && '$(CURDIR)/$(BIN)/mypy' --config-file '$(CURDIR)/pyproject.toml' \
	--cache-dir '$(CURDIR)/.mypy_cache' pocket_uno_env train.py evaluate.py

format: $(STAMP) ## Sort imports, apply safe fixes, format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.venv-docs/.installed: docs/requirements.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

docs: $(STAMP) .venv-docs/.installed tree ## Write the generated parts of the documents; build the site
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	@echo 'The site is in build/site; to read it: $(PYTHON) -m http.server --directory build/site'

# The figures of README.md: the networks of the package against everyone.
results: $(STAMP) ## Measure anew what README.md shows (some minutes)
	$(BIN)/python evaluate.py --agents pocket-2p random greedy counter strong --episode match \
	--deals 3000 --seed 1 --json docs/results/1-pocket-2p.json
	$(BIN)/python evaluate.py --agents pocket-4p greedy counter strong --num-players 4 --design round-robin \
	--episode match --deals 2000 --seed 1 --json docs/results/2-pocket-4p.json
	$(BIN)/python evaluate.py --agents classic-2p random greedy counter strong --rules classic \
	--episode match --deals 3000 --seed 1 --json docs/results/3-classic-2p.json
	$(BIN)/python docs/generate.py

# Before a release, or when an agent of the ladder plays differently: each gets a new version.
ladders: $(STAMP) ## Measure the ladders anew (some minutes)
	$(BIN)/python evaluate.py ladder --measure --deals 4000
	$(BIN)/python evaluate.py ladder --measure --deals 2000 --num-players 3
	$(BIN)/python evaluate.py ladder --measure --deals 2000 --num-players 4
	$(BIN)/python evaluate.py ladder --measure --deals 3000 --rules classic

# The tables of match equity, and how well they come true (docs/evaluating.md).
EQUITY := $(BIN)/pocket-uno equity
equity: $(STAMP) ## Measure anew how many points rounds pay, and calibrate (some minutes)
	for game in pocket:2 pocket:3 pocket:4 pocket:5 $(addprefix classic:,2 3 4 5 6 7 8 9 10); do \
	rules=$${game%:*} n=$${game#*:}; $(EQUITY) --measure --rules $$rules --num-players $$n \
	--rounds 400000 --out pocket_uno_env/equity/points/$$rules-$${n}p.json || exit 1; done
	$(EQUITY) --calibrate strong counter greedy --out docs/results/equity/1-pocket-2p.json \
	--plot docs/images/equity.svg
	$(EQUITY) --calibrate strong --num-players 4 --out docs/results/equity/2-pocket-4p.json
	$(EQUITY) --calibrate strong --rules classic --out docs/results/equity/3-classic-2p.json
	$(BIN)/python docs/generate.py

# The figures of docs/evaluating.md: what control variates save, and RLCard's agent.
CONTROL := docs/results/control
RLCARD  := docs/results/rlcard
figures: $(STAMP) ## Measure anew what docs/evaluating.md shows (some minutes)
	$(BIN)/python evaluate.py --agents greedy strong --deals 10000 --seed 1 --control \
	--json $(CONTROL)/1-pocket-2p.json
	$(BIN)/python evaluate.py --agents counter strong --deals 10000 --seed 1 --control \
	--json $(CONTROL)/2-pocket-2p.json
	$(BIN)/python evaluate.py --agents greedy strong --deals 10000 --seed 1 --control \
	--rules classic --json $(CONTROL)/3-classic-2p.json
	$(BIN)/python evaluate.py --agents greedy strong --design gauntlet --num-players 4 \
	--deals 5000 --seed 1 --control --json $(CONTROL)/4-pocket-4p.json
	for rules in 1-classic 2-no-uno 3-forced-play; do $(BIN)/python evaluate.py \
	--agents rlcard-rule random --rules $(RLCARD)/$$rules.toml --deals 10000 --seed 1 \
	--json $(RLCARD)/$$rules.json; done
	$(BIN)/python docs/generate.py

# The figures of docs/ecosystem/openspiel.md.
SPIEL := docs/results/openspiel
openspiel: $(STAMP) .venv-frameworks/.installed ## Measure how exploitable agents are, anew (half an hour)
	test -e runs/mini || $(BIN)/python train.py --rules mini --reward win --lookahead-steps 0 --opponents greedy random \
	--steps 300000 --seed 1 --deals 0 --out runs/mini
	rm -f $(SPIEL)/exploitability.json
	.venv-frameworks/bin/python examples/openspiel_exploitability.py --max-decisions 8 \
	--iterations 100 --agents random first greedy counter strong runs/mini \
	--out $(SPIEL)/exploitability.json
	for bot in '1 random 1000' '2 ismcts:100 100'; do \
	set -- $$bot; .venv-frameworks/bin/python evaluate.py --agents spiel:$$2 greedy --deals $$3 \
	--seed 1 --json $(SPIEL)/bots-$$1.json || exit 1; done
	$(BIN)/python docs/generate.py

exploit: $(STAMP) ## Hold the bounds of exploitability against the exact figures, anew (some minutes)
	$(BIN)/python benchmarks/exploit_mini.py --out docs/results/exploit/mini.json
	$(BIN)/python docs/generate.py

# Each of these networks takes at most 90 minutes of two cores; one that is stopped is taken up
# again by train.py --resume. `make weights NETWORKS=pocket-2p` makes one.
NETWORKS := pocket-2p classic-2p pocket-4p pocket-3p pocket-5p classic-4p pocket-2p-rounds
LONG := $(BIN)/python train.py --steps 0 --checkpoint-every 2000000 --keep 20 --seed 1 --deals 0
ANYONE := --opponents strong strong strong greedy --network 512 512 --teacher-steps 1000000
STRONG := --opponents strong --critic-network 256 256 --teacher-steps 1000000
# The first of two trainings; the second, against strong alone, goes on from its weights.
pocket-2p-first  := $(ANYONE) --lookahead-steps 40000000
pocket-2p        := --initial runs/pocket-2p-first --opponents strong --teacher None \
	--lookahead-learning-rate 7e-4 --lookahead-steps 30000000
classic-2p       := --rules classic $(ANYONE) --lookahead-steps 24000000
pocket-3p        := --num-players 3 $(STRONG) --network 512 512 --lookahead-steps 9000000
pocket-4p        := --num-players 4 $(STRONG) --network 384 384 --lookahead-steps 10000000
pocket-5p        := --num-players 5 $(STRONG) --network 384 384 --lookahead-steps 6000000
classic-4p       := --rules classic --num-players 4 $(STRONG) --network 384 384 --lookahead-steps 6000000
pocket-2p-rounds := $(STRONG) --network 512 512 --reward win --gamma 0.997 --lookahead-steps 10000000

weights: $(STAMP) ## Train and publish anew the networks that come with the package
	$(foreach name,$(NETWORKS),\
	$(if $($(name)-first),$(LONG) $($(name)-first) --out runs/$(name)-first &&) \
	$(LONG) $($(name)) --out runs/$(name) && $(BIN)/pocket-uno publish runs/$(name) $(name) &&) \
	$(BIN)/python docs/generate.py

scripted: $(STAMP) ## Measure anew what docs/agents.md shows of the scripted agents (a minute)
	for game in 'pocket 2 20000' 'pocket 4 4000' 'classic 2 10000' 'classic 4 2000'; do \
	set -- $$game; $(BIN)/python evaluate.py --agents random random-uno first high-card attacker \
	challenger greedy counter strong strong-match --rules $$1 --num-players $$2 --deals $$3 --seed 1 \
	--json docs/results/scripted/$$1-$$2p.json || exit 1; done
	$(BIN)/python docs/generate.py

# What docs/training.md says about each part of the training.
ablation: $(STAMP) ## Measure what each part of the training is worth (half an hour)
	rm -rf runs/ablation docs/results/training/ablation.json
	$(BIN)/python benchmarks/ablation.py

# Frameworks that cannot share .venv, by their pins or their weight, each in an environment of its
# own; the tests lie beside its requirements.
ECOSYSTEM := frameworks rllib

$(ECOSYSTEM:%=.venv-%/.installed): .venv-%/.installed: ecosystem/%/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

test-notebooks: $(STAMP) ## Run the notebooks, compare what comes with what they show (minutes)
	$(BIN)/python notebooks/check.py $(ARGS)

test-ecosystem: test-wheel $(ECOSYSTEM:%=.venv-%/.installed) ## Test the wheel, and with other frameworks (half an hour)
	for name in $(ECOSYSTEM); do .venv-$$name/bin/python -m pytest ecosystem/$$name $(ARGS) || exit 1; done

# What is released, and the ends of what is said to be supported. Each in an environment of its own.
.PHONY: wheel test-wheel test-interpreted test-bounds test-oldest test-newest test-python

wheel: $(STAMP) ## Build the wheel and the source distribution into dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist

test-wheel: $(STAMP) ## Install the wheel in clean environments, and use it (minutes)
	$(BIN)/python -m pytest ecosystem/wheel $(ARGS)

# The kernels as plain Python, whose integers NumPy warns about when they wrap around: the rule cases,
# since random games take a thousand times as long. And compiled with a check of every index.
QUICK := -m 'not slow and not soak'
RULE_TESTS := tests/rules $(addprefix tests/engine/test_,rule_cases.py engine.py) \
	tests/observation/test_observation.py tests/records/test_record.py

test-interpreted: $(STAMP) ## The tests of the rules with interpreted kernels
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 $(QUICK) \
	-W 'ignore:overflow encountered:RuntimeWarning' \
	$(filter %rule_cases.py %rules,$(RULE_TESTS)) $(ARGS)

test-bounds: $(STAMP) ## The tests of the rules with bounds checks
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/python -m pytest -n 2 $(QUICK) \
	$(RULE_TESTS) $(ARGS)

# Other versions' own warnings are no faults of this package.
PIP        := -m pip install --quiet --disable-pip-version-check
TEST_TOOLS := hypothesis pytest pytest-xdist pyyaml
DEPENDENCY_TESTS := $(wildcard $(addprefix tests/*/test_,main.py aec.py gym.py sb3_env.py \
	networks.py evaluate.py statistics.py ratings.py sight.py web.py train.py))

.venv-oldest/.installed: pyproject.toml tests/support/oldest.py
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python $(PIP) torch==2.13.0
	$(PYTHON) tests/support/oldest.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python $(PIP) -r .venv-oldest/oldest.txt -e . $(TEST_TOOLS)
	@touch $@

.venv-newest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python $(PIP) torch==2.13.0
	.venv-newest/bin/python $(PIP) -e '.[train,play,render]' $(TEST_TOOLS)
	@touch $@

test-oldest: .venv-oldest/.installed ## Test with the oldest versions that pyproject.toml admits
test-newest: .venv-newest/.installed ## Test with the newest
test-oldest test-newest:
	.venv-$(@:test-%=%)/bin/python -m pytest -W default $(QUICK) $(DEPENDENCY_TESTS) $(ARGS)

# All that needs no PyTorch: make test-python PYTHON=python3.13
VERSION = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
WITHOUT_TORCH := $(addprefix --ignore=,tests/training $(wildcard $(addprefix tests/*/test_,\
	examples.py gym.py memory.py networks.py sb3_env.py browser.py docs.py)))

test-python: pyproject.toml ## The tests that need no PyTorch, by another Python
	$(PYTHON) -m venv .venv-$(VERSION)
	.venv-$(VERSION)/bin/python $(PIP) -e '.[evaluate,play,render]' $(TEST_TOOLS)
	.venv-$(VERSION)/bin/python -m pytest -W default $(QUICK) $(WITHOUT_TORCH) tests $(ARGS)

soak: $(STAMP) .venv-frameworks/.installed ## The long tests, for the night
	$(BIN)/python -m pytest -n 2 -m soak $(ARGS)
	.venv-frameworks/bin/python -m pytest ecosystem/frameworks -m soak $(ARGS)

# Each peer in an environment of its own: they pin other versions.
.venv-%/.installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

PEERS := .venv-rlcard/.installed .venv-openspiel/.installed .venv-pettingzoo/.installed

bench: $(STAMP) $(PEERS) ## Measure throughput as ratios to RLCard's, for README.md (minutes)
	$(BIN)/python benchmarks/bench.py $(ARGS)
	$(BIN)/python docs/generate.py

bench-check: $(STAMP) $(PEERS) ## Measure and hold the ratios against those of README.md
	$(BIN)/python benchmarks/bench.py --check $(ARGS)

clean: ## Remove .venv, caches and build output; runs/ stays
	rm -rf $(VENV) .venv-* build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
