# Entry points only; CMake does the building (presets: release, debug, asan-ubsan).
.PHONY: all demo check check-long install clean

all: build/splatsmith

build/splatsmith: deps
	cmake --preset release
	cmake --build --preset release --target splatsmith

.PHONY: deps build/splatsmith
deps:
	@scripts/install_deps.sh

demo: build/splatsmith
	@scripts/demo.sh

check: deps
	@scripts/check.sh

# Minutes more: from photos to meshes whose distance from the truth is known.
check-long: deps
	cmake --preset release
	cmake --build --preset release --target splatsmith test_surface_long
	SPLATSMITH_LONG_TESTS=1 ctest --test-dir build -V -R test_surface_long

install: build/splatsmith
	cmake --build --preset release
	cmake --install build

clean:
	rm -rf build build-debug build-asan demo_out
