"""The reference of the Python package, from the signatures and docstrings in its files; nothing is imported."""

import ast
import textwrap


def exported(package):
    """The names of `__all__`, each with the module that it is taken from."""
    tree = ast.parse((package / "__init__.py").read_text())
    modules, names = {}, []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            modules.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
        elif isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            names = ast.literal_eval(node.value)
    return {name: modules[name] for name in names}


def docstring(node):
    """As text that stays as it is written; nothing where there is none."""
    text = ast.get_docstring(node)
    return f"\n```text\n{text}\n```\n" if text else ""


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def signature(node, of=""):
    """`name(arguments) -> type`, of a class the arguments of its making."""
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    if is_property(node):
        return f"{of}{node.name}"
    return f"{of}{node.name}({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def class_page(node):
    """A class: how it is made, what it is, its public members that say something of themselves."""
    functions = [member for member in node.body if isinstance(member, ast.FunctionDef)]
    made = next((f for f in functions if f.name == "__init__"), None)
    bases = [ast.unparse(base) for base in node.bases]
    told = f"{node.name}({ast.unparse(made.args).removeprefix('self, ')})" if made else node.name
    page = [f"## fhd.{node.name}", "", f"```python\n{told}\n```"]
    page += [f"\nA kind of `{', '.join(bases)}`." if bases else "", docstring(node)]
    fields = [ast.unparse(member) for member in node.body if isinstance(member, ast.AnnAssign)]
    if fields:
        page.append("\n```python\n" + "\n".join(fields) + "\n```\n")
    for function in functions:
        if not function.name.startswith("_") and ast.get_docstring(function):
            page += [f"### {node.name}.{function.name}", "", f"```python\n{signature(function)}\n```", docstring(function)]
    return page


def function_page(node):
    return [f"## fhd.{node.name}", "", f"```python\n{signature(node)}\n```", docstring(node)]


def reference(package):
    """The page of all that `import fhd` offers; package: the folder of its files."""
    page = ["# The Python package", "", textwrap.dedent(ast.get_docstring(ast.parse((package / "__init__.py").read_text())).split(">>>")[0]), ""]
    page += ["How to use it: [for Python](../../python/README.md).", ""]
    for name, (module, own) in sorted(exported(package).items(), key=lambda item: item[0].lower()):
        file = package / (module.removeprefix("fhd.") + ".py")
        if not file.is_file():
            page += [f"## fhd.{name}", "", f"Of the compiled module, `help(fhd.{name})` tells more.", ""]
            continue
        node = next(n for n in ast.parse(file.read_text()).body if getattr(n, "name", None) == own)
        page += class_page(node) if isinstance(node, ast.ClassDef) else function_page(node)
    return "\n".join(page)
