"""Groups of commands that are found by being there."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import click


def group_of(package: ModuleType) -> type[click.Group]:
    """A group whose commands are the modules of a package, one ``COMMAND`` each, imported when it is asked for."""

    class Group(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return sorted(module.name for module in pkgutil.iter_modules(package.__path__))

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in self.list_commands(ctx):
                return None
            return importlib.import_module(f"{package.__name__}.{cmd_name}").COMMAND

    return Group
