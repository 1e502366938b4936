"""How a field of a request is given on the command line, in Python and to assistants: its name, its help, its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from keyword import iskeyword
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

Request = TypeVar("Request")


class Option(msgspec.Struct, frozen=True):
    """An option. `names` are as the command line has them, the first one with two dashes.

    `parse` reads one value from its text and raises ValueError with what is wrong. `variable` names the environment
    variable that stands in, which the reader of the request looks at. `default` is that of the program, in words.
    `least` is the least value of a number.
    `commas`: one value may be several. `repeated`: it may be given again, although the field takes one value.
    `counted`: it takes no value, and how often it is given counts. `complete` is what a shell may offer: `rule`,
    `setting`, `symptom`.
    """

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    parse: Callable[[Any], Any] | None = None
    variable: str = ""
    default: str = ""
    least: int | None = None
    commas: bool = False
    repeated: bool = False
    counted: bool = False
    complete: str = ""

    @property
    def read(self) -> Callable[[str], Any] | None:
        """The parser of one value; None where the text is the value, or its type parses it."""
        return self.parse if self.least is None else self._whole_number

    def _whole_number(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) >= (self.least or 0)):
            raise ValueError(f"it must be a whole number from {self.least} on")
        return int(text)

    @property
    def key(self) -> str:
        """Its name in Python."""
        name = self.names[0].lstrip("-").replace("-", "_")
        return f"{name}_" if iskeyword(name) else name


def option(*names: str, help: str, **more: Any) -> Option:  # noqa: A002 - the word that every library for options has
    """An option with these names; see `Option`."""
    return Option(names, help, **more)


class OptionField(msgspec.Struct, frozen=True):
    """A field of a request with its option. `type` is that of one value, `many`: it may be given several times."""

    name: str
    option: Option
    type: type[Any]
    many: bool
    default: Any


def option_fields(request: type[Any]) -> Iterator[OptionField]:
    """The fields of a request that are options, in their order."""
    defaults = request()
    for name, hint in get_type_hints(request, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        whole, *notes = get_args(hint)
        for note in notes:
            if isinstance(note, Option):
                value_type, many = _value_type(whole)
                yield OptionField(name, note, value_type, many or note.repeated, getattr(defaults, name))


def _value_type(hint: Any) -> tuple[type[Any], bool]:
    """The type of one value, and whether there may be several."""
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    return (get_args(hint)[0], True) if get_origin(hint) is tuple else (hint, False)


def request_from(kind: type[Request], given: Mapping[str, Any]) -> Request:
    """The request with what was given, by the keys of its options. What is None, false or empty was not given.

    Where several values may be given, one is enough. Raises ValueError for what an option cannot be read from.
    """
    values = {}
    for field in option_fields(kind):
        value = given.get(field.option.key)
        if value is None or value is False or value in ((), [], ""):
            continue
        listed = list(value) if field.many and isinstance(value, list | tuple) else [value]
        try:
            read = tuple(item for argument in listed for item in _read(field, argument))
        except ValueError as error:
            raise ValueError(f"{field.option.names[0]}: {error}") from error
        values[field.name] = read if field.many else read[0]
    return kind(**values)


def _read(field: OptionField, value: Any) -> Iterator[Any]:
    """The values of one argument: texts are parsed or split at commas, paths converted, others taken as they are."""
    if field.option.commas:
        yield from (part.strip() for part in value.split(",") if part.strip())
    elif isinstance(value, str) and field.option.read is not None:
        yield field.option.read(value)
    elif isinstance(value, str | PurePath) and issubclass(field.type, str | PurePath):
        yield field.type(value)
    else:
        yield value


def configured(field: OptionField, value: object) -> object:
    """The value of an option in a configuration file, unchanged. Raises ValueError if the option cannot have it."""
    if field.type is bool:
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value
    listed = value if field.many and isinstance(value, list) else [value]
    if not listed or not all(isinstance(text, str) and text for text in listed):
        raise ValueError("must be a text, or a list of texts" if field.many else "must be a text")
    for text in listed:
        list(_read(field, text))
    return value


def given_options(request: object) -> tuple[str, ...]:
    """The options by which a request differs from its default."""
    return tuple(
        field.option.names[0]
        for field in option_fields(type(request))
        if getattr(request, field.name) not in (field.default, None)
    )


def arguments_of(request: type[Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """The command-line arguments for the given values (texts, lists of texts or True), as `--option=text`."""
    return tuple(
        field.option.names[0] if value is True else f"{field.option.names[0]}={value}"
        for field in option_fields(request)
        if (values := given.get(field.option.key))
        for value in (values if isinstance(values, list | tuple) else [values])
    )
