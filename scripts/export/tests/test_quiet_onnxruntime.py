"""onnxruntime stores its telemetry in the home directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_import_writes_no_telemetry(tmp_path: Path) -> None:
    # Each of these turns telemetry off by itself.
    without = {"CI", "TF_BUILD", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    program = "from leadscore_export.convert.onnx_graph import run_onnx"
    root = Path(__file__).parent.parent
    subprocess.run(
        [sys.executable, "-c", program], cwd=root, env={**environment, "HOME": str(tmp_path)}, check=True
    )
    assert list(tmp_path.iterdir()) == []
