"""The command line and the Python interface, from the commands and names themselves."""

from __future__ import annotations

import inspect
from typing import Any

import hostsim
from hostsim.campaign.run_option import OPTIONS
from hostsim_docs.markdown import code, table

__all__ = ["api_page", "commands_page"]


class _Bare(str):
    """An annotation that a signature shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


OF_CLASS = "\n   :members:\n   :undoc-members:\n   :exclude-members: __init__, __new__"
"""Options of autoclass."""


def commands_page() -> str:
    """Every command with its arguments and options, as in its help."""
    import typer
    from typer.cli import get_docs_for_click

    from hostsim.cli.app import app

    group: Any = typer.main.get_command(app)
    context = group.make_context("hostsim", ["--help"], resilient_parsing=True)
    return str(get_docs_for_click(obj=group, ctx=context, name="hostsim", title="Command line")).strip() + "\n"


def api_page(*, directives: bool = False) -> str:
    """Every public name with its signature and docstring, readable without Sphinx.

    Args:
        directives: use directives of autodoc instead, for Sphinx.
    """
    names = {name: getattr(hostsim, name) for name in hostsim.__all__}
    functions = [name for name, value in names.items() if inspect.isfunction(value)]
    classes = [name for name, value in names.items() if inspect.isclass(value)]
    others = [name for name in names if name not in (*functions, *classes)]
    blocks = [
        """# Python interface

`import hostsim` provides these names, and loads each of them at its first use. Tables are pandas frames, and figures are matplotlib figures. The {doc}`catalogue of measures <measures>` has the names and units of columns.
"""
    ]
    for title, kind, members in (("Functions", "function", functions), ("Classes", "class", classes)):
        if not directives:
            blocks += [f"\n## {title}\n", *(_documented(name, names[name]) for name in members)]
            continue
        blocks.append(f"\n## {title}\n\n```{{eval-rst}}\n")
        options = OF_CLASS if kind == "class" else ""
        blocks += [f".. auto{kind}:: hostsim.{name}{options}\n\n" for name in members]
        blocks.append("```\n")
    rows = [[code(name), str(option.help)] for name, option in OPTIONS.items()]
    blocks.append(
        f"\n## Run options\n\nThese are the fields of `hostsim.RunOptions`, and keyword arguments of functions that run scenarios.\n\n{table(('', ''), rows)}"
    )
    listed = "\n".join(f"- `hostsim.{name}`: {_about(name, names[name])}" for name in others)
    return "".join(blocks) + (f"\n## Values\n\n{listed}\n" if others else "")


def _documented(name: str, value: Any) -> str:
    """A function with its signature and docstring, or a class with its docstring and a table of its members."""
    text, rows = inspect.getdoc(value) or "", []
    if inspect.isfunction(value):
        parameters = [
            parameter.replace(annotation=_Bare(parameter.annotation))
            for parameter in inspect.signature(value).parameters.values()
        ]
        text = f"hostsim.{name}({', '.join(map(str, parameters))})\n\n{text}"
    else:
        rows = [
            [code(key), (inspect.getdoc(member) or "").partition("\n")[0]]
            for key, member in vars(value).items()
            if key[0] != "_" and (inspect.isroutine(member) or inspect.isdatadescriptor(member))
        ]
    listed = f"\n{table(('member', 'purpose'), rows)}" if rows else ""
    return f"\n### hostsim.{name}\n\n```text\n{text}\n```\n{listed}"


def _about(name: str, value: object) -> str:
    if name == "CATALOGUE":
        return "measures by name; {doc}`measures` shows it."
    return f"a {type(value).__name__}."
