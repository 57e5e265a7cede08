"""The service's own check of bundles: `leadscore model check`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

CLI = Path(__file__).parents[3] / "dist" / "scripts" / "cli" / "main.js"


def model_check(bundles: Sequence[Path]) -> list[dict[str, Any]]:
    """The report on each bundle, all of which must pass. On a build server, the check must run."""
    if not CLI.exists() or shutil.which("node") is None:
        reason = (
            "there is no built service, or no node. To run this test, install Node 24 and call npm run build"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    command = ["node", str(CLI), "model", "check", *map(str, bundles), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    found: list[dict[str, Any]] = json.loads(run.stdout)["bundles"]
    assert (len(found), run.returncode) == (len(bundles), 0), run.stdout
    return found
