"""A script's source, evaluated abstractly: shapes, dtypes, devices, graphs, checkpoints."""

from surefit.interpreter.scripts import violations_of

__all__ = ["violations_of"]
