"""Which calls of a file run a function of it, and what they give for an argument."""

import ast

from surefit.source.classes import Method, function_called, named_class
from surefit.source.reading import Source
from surefit.source.remembered import remembered

MADE_BY = "__init__"


def calls_that_run(source: Source, function: Method) -> list[ast.Call] | None:
    """Every call of the file that runs a function of it; of `__init__`, those that make the class.

    None where the function is also handed on as a value, so that others can call it.
    """
    name = function.name
    owner = source.parents[function]
    if name == MADE_BY and isinstance(owner, ast.ClassDef):
        return only_called(source, owner)
    if isinstance(owner, ast.ClassDef):
        return methods_called(source, function)
    return only_called(source, function)


@remembered(otherwise=None)
def only_called(source: Source, made: Method | ast.ClassDef) -> list[ast.Call] | None:
    """Calls by the name of a function or class, if it is read for nothing else."""
    found: list[ast.Call] = []
    for name in source.names_read.get(made.name, ()):
        if made not in source.bound_by(name):
            continue
        call = source.parents[name]
        if not isinstance(call, ast.Call) or call.func is not name:
            return None
        found.append(call)
    return found


@remembered(otherwise=None)
def methods_called(source: Source, function: Method) -> list[ast.Call] | None:
    """Calls of a method by its name, if each of them is known to be of this very class."""
    found: list[ast.Call] = []
    for read in source.attributes_read.get(function.name, ()):
        call = source.parents[read]
        if not isinstance(call, ast.Call) or call.func is not read:
            return None
        if function_called(source, call) is not function:
            return None
        found.append(call)
    return found


def given_for(source: Source, argument: ast.arg) -> ast.expr | None:
    """What an argument of a function is, if the calls of the file that run it all give the same:
    one call, or several with the same constant or name. A default counts as given."""
    function = source.parents[source.parents[argument]]
    calls = calls_that_run(source, function) if isinstance(function, Method) else None
    given = [given_in(source, function, call, argument) for call in calls or ()]
    first = given[0] if given else None
    if first is None or not all(is_same(source, first, one) for one in given[1:]):
        return None
    return first


def is_same(source: Source, first: ast.expr, other: ast.expr | None) -> bool:
    """Two expressions with one value: equal constants, or one name that is set once."""
    if isinstance(first, ast.Constant) and isinstance(other, ast.Constant):
        return type(first.value) is type(other.value) and first.value == other.value
    if not isinstance(first, ast.Name) or not isinstance(other, ast.Name):
        return False
    bound = source.bound_by(first)
    return len(bound) == 1 and source.bound_by(other) == bound


def given_in(
    source: Source, function: ast.AST, call: ast.Call, argument: ast.arg
) -> ast.expr | None:
    """What one call gives for an argument of the function that it runs."""
    if not isinstance(function, Method) or is_open(call):
        return None
    position = position_in(source, function, call, argument)
    return source.argument(call, argument.arg, position) or default_of(function.args, argument)


def position_in(source: Source, function: Method, call: ast.Call, argument: ast.arg) -> int | None:
    """At which place a call gives an argument without its name; None for all others."""
    plain = given_by_position(source, function, call)
    return plain.index(argument) if argument in plain else None


def given_by_position(source: Source, function: Method, call: ast.Call) -> list[ast.arg]:
    """Arguments that a call can give without their names, in order."""
    plain = [*function.args.posonlyargs, *function.args.args]
    return plain[1:] if takes_itself(source, function, call) else plain


def is_open(call: ast.Call) -> bool:
    """It gives arguments by stars, of which nobody knows how many there are."""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(
        one.arg is None for one in call.keywords
    )


def takes_itself(source: Source, function: Method, call: ast.Call) -> bool:
    """The first argument is the object, and no call gives it."""
    if not isinstance(source.parents[function], ast.ClassDef):
        return False
    decorators = [one.id for one in function.decorator_list if isinstance(one, ast.Name)]
    by_class = isinstance(call.func, ast.Attribute) and named_class(source, call.func.value)
    return "staticmethod" not in decorators and not by_class


def default_of(listed: ast.arguments, argument: ast.arg) -> ast.expr | None:
    """The value that an argument has where nothing is given for it."""
    plain = [*listed.posonlyargs, *listed.args]
    if argument in plain:
        at = plain.index(argument) - len(plain) + len(listed.defaults)
        return listed.defaults[at] if at >= 0 else None
    if argument in listed.kwonlyargs:
        return listed.kw_defaults[listed.kwonlyargs.index(argument)]
    return None
