# Entry points only; CMake does the building (presets: release, debug, asan-ubsan).
#   make [CUDA=1 or CUDA=0]                     with or without the CUDA backend; unset: as CMake decides (AUTO)
#   make install [PREFIX=/usr/local] [DESTDIR=] the program, the library and their documents; no test is compiled
.PHONY: all demo check check-quick check-nightly check-long fuzz install site release clean

PREFIX ?= $(CMAKE_INSTALL_PREFIX)
cuda := $(if $(CUDA),-DSPLATSMITH_CUDA=$(if $(filter 0 off OFF no,$(CUDA)),OFF,ON))

all: build/splatsmith

build/splatsmith: deps
	cmake --preset release $(cuda)
	cmake --build --preset release --target splatsmith

.PHONY: deps build/splatsmith
deps:
	@scripts/install_deps.sh

demo: build/splatsmith
	@scripts/demo.sh

# CUDA=1 and CUDA=0 hold here as well. check-quick takes minutes, check is what CI runs, check-nightly takes hours.
check: deps
	@scripts/check.sh full

check-quick: deps
	@scripts/check.sh quick

check-nightly: deps
	@scripts/install_deps.sh --fuzz
	-@scripts/install_deps.sh --packages
	@scripts/check.sh nightly

# Minutes more: from photos to meshes whose distance from the truth is known, and to a textured one; the packages twice,
# with the same bytes.
check-long: deps
	cmake --preset release $(cuda)
	cmake --build --preset release --target splatsmith test_surface_long test_pipeline_long
	SPLATSMITH_LONG_TESTS=1 ctest --test-dir build -V -R "test_surface_long|test_pipeline_long"
	scripts/check_reproducible.sh -DSPLATSMITH_CUDA=OFF

# For longer: make fuzz FUZZ_SECONDS=3600; only some: make fuzz FUZZ="ply mesh".
FUZZ_SECONDS ?= 60
fuzz: deps
	@scripts/install_deps.sh --fuzz
	@tests/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ)

install: build/splatsmith
	cmake --build --preset release --target installed
	DESTDIR="$(DESTDIR)" cmake --install build $(if $(PREFIX),--prefix "$(PREFIX)")

# The documents, the pages of commands and of the library, searchable without a network: build-site/index.html.
site: build/splatsmith
	@scripts/install_deps.sh --site
	@scripts/site.sh

# Packages, archive, wheel, sources and checksums of a release, in release/ (RELEASING.md).
release: deps
	@scripts/release.sh $(cuda)

clean:
	rm -rf build build-debug build-asan build-fuzz build-tsan build-clang build-plain build-site build-site.source build-packages \
	    build-tidy release demo_out
