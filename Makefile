# Each target sets up what it needs: a virtual environment in .venv with the locked packages.
VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: demo test check style mypy pyright docs stress bench validate wheel lock clean kernels chromium

demo: $(READY)  ## explore a real network and ask the store about it
	$(VENV)/bin/nestmap explore light:resnet50 --accelerator tpu_like --store demo.duckdb
	$(VENV)/bin/nestmap query "SELECT layer, energy, latency FROM best ORDER BY energy DESC LIMIT 5" --store demo.duckdb

test: $(READY) chromium kernels  ## all tests; a third worker for two cores, as one often waits for a browser or a process
	$(PYTHON) -m pytest -q -n 3

check: style mypy pyright  ## style, types, layers; make -j2 checks types with both checkers at once

style: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-cache --no-logo

mypy: $(READY)
	$(VENV)/bin/mypy

pyright: $(READY)
	$(VENV)/bin/pyright --pythonpath $(PYTHON)  # else it looks at the python of the PATH

docs: $(READY)  ## the documentation as a site in site/
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

SEED := 0
stress: $(READY)  ## all tests with their sweeps in full: thousands of random cases, drawn with SEED
	NESTMAP_STRESS=1 $(PYTHON) -m pytest -q -n 2 --hypothesis-seed=$(SEED)
	$(PYTHON) -m benchmarks.fuzz onnx --cases 13000 --seed $(SEED)
	$(PYTHON) -m benchmarks.fuzz yaml --cases 26000 --seed $(SEED)
	$(PYTHON) -m benchmarks.fuzz cores --cases 5000 --seed $(SEED)
	$(PYTHON) -m benchmarks.fuzz http --cases 500 --seed $(SEED)

bench: $(READY)  ## what benchmarks/NOTES.md reports
	$(PYTHON) -m benchmarks.evaluations
	$(PYTHON) -m benchmarks.startup
	$(PYTHON) -m benchmarks.network
	$(PYTHON) -m benchmarks.search
	$(PYTHON) -m benchmarks.salsa
	$(PYTHON) -m benchmarks.exact
	$(PYTHON) -m benchmarks.sweep
	$(PYTHON) -m benchmarks.imc
	$(PYTHON) -m benchmarks.workloads
	$(PYTHON) -m benchmarks.split
	$(PYTHON) -m benchmarks.stream
	$(PYTHON) -m benchmarks.store_write
	$(PYTHON) -m benchmarks.recording
	$(PYTHON) -m benchmarks.sweep_strategies
	$(PYTHON) -m benchmarks.sweep_store
	$(PYTHON) -m benchmarks.counting
	$(PYTHON) -m benchmarks.store_queries
	$(PYTHON) -m benchmarks.explorer

validate: $(READY)  ## model against measured chips: the tables of docs/silicon.md and docs/imc.md
	$(PYTHON) -m benchmarks.silicon
	$(PYTHON) -m benchmarks.imc_silicon

wheel: $(READY)  ## a wheel, in dist/
	$(PYTHON) -m pip wheel -q --no-deps -w dist .

kernels: $(READY)  # what each worker of the tests would compile where nothing is compiled yet
	$(PYTHON) -m tests.kernels

chromium:  # what tests/browser opens pages with; they are skipped without it
	@bash .ci/chromium.sh

lock:  ## the newest packages that pyproject.toml admits
	uv pip compile --universal --generate-hashes --group dev pyproject.toml -o requirements-dev.lock \
		--custom-compile-command "make lock"

clean:
	rm -rf $(VENV) demo.duckdb site

$(READY): pyproject.toml requirements-dev.lock
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.lock
	-$(PYTHON) -m compileall -qq -j 0 $(VENV)/lib  # as pip, which does it on one processor, passes over what fails
	$(PYTHON) -m pip install -q --disable-pip-version-check --no-deps -e .
	touch $(READY)
