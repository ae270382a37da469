"""What laws are measured on: one file for each law, imported when observing begins.

A file registers listeners (`events.on`) and patches (`after_import`), and writes its `Measure` with
`spool.saw` from a function marked `@finishing.at_end` and `@periodic.every_few_seconds`.
"""

import pkgutil
from importlib import import_module

from surefit.observe.inside import spool


def install() -> None:
    """There is no list to edit."""
    for file in pkgutil.iter_modules(__path__):
        try:
            import_module(f"{__name__}.{file.name}")
        except Exception as error:  # noqa: BLE001 - the others still measure
            spool.could_not(file.name, error)
