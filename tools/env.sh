# shellcheck shell=sh
# Sourced by the entries in this folder: sets PYTHON to an interpreter of at least 3.11, or ends.

# A name on PATH proves nothing (version managers leave stubs there), so each candidate is run.
find_python() {
    for PYTHON in "${PYTHON:-python3.13}" python3.13 python3.12 python3.11 python3.14 python3; do
        if "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            return
        fi
    done
    echo "smith needs Python 3.11 or newer, and none was found on PATH." >&2
    echo "Install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python)," >&2
    echo "or name it: PYTHON=/path/to/python $0" >&2
    exit 1
}

find_python
