"""The functions of a workload, deployed to a running server by the makers' own command line."""

from __future__ import annotations

import json
import shutil
import subprocess

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.module import Module
from gapbook.deploy.process import log_tail
from gapbook.deploy.toolchain import node_path
from gapbook.errors import SetupError, StackError

__all__ = ["deploy_functions"]

_WITHIN_S = 120.0


def deploy_functions(deployment: Deployment, module: Module, *, url: str, admin_key: str) -> None:
    """Bundle and push the workload's folder ``convex``, with its schema, from a project of its own: the command
    line writes beside what it reads. Types are checked by the module's own tests. Raises SetupError or StackError."""
    packages = module.folder / "node_modules"
    command_line = packages / "convex" / "bin" / "main.js"
    if not command_line.is_file():
        raise SetupError(f"convex: {command_line} is missing; run: make setup")
    project = deployment.directory / "convex-project"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    shutil.copytree(module.path("convex"), project / "convex")
    (project / "node_modules").symlink_to(packages)
    # Without it the command line asks whether this is a project at all.
    (project / "package.json").write_text(
        json.dumps({"name": "gap", "private": True, "type": "module"}), encoding="utf-8"
    )
    process = deployment.start(
        [node_path(), command_line, "deploy", "--yes", "--typecheck", "disable", "--codegen", "disable"],
        name="convex-deploy",
        environment={"CONVEX_SELF_HOSTED_URL": url, "CONVEX_SELF_HOSTED_ADMIN_KEY": admin_key, "CI": "1"},
        working_directory=project,
    )
    try:
        code = process.popen.wait(_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        raise StackError(f"convex: its functions are not deployed after {_WITHIN_S:.0f} s") from error
    finally:
        deployment.stop(process)
    if code != 0:
        raise StackError(f"convex: its functions cannot be deployed: {log_tail(process.log_path)}")
