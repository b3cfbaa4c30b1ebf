"""The reference of the Python package, from the signatures and docstrings in its files; nothing is imported."""

import ast
import re


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
    """Return a docstring as it stands in the file."""
    return f"\n```text\n{ast.get_docstring(node) or ''}\n```\n"


def told_by_the_module(package, name):
    """Return what the compiled module says of an exception; an empty text for other names."""
    found = re.search(rf'"fhd\.{name}",\s*"([^"]*)"', (package.parent / "module.cpp").read_text())
    return found[1] if found else ""


def public_bases(node, tree):
    """The classes that a class is made of, those of its own file in the place of names with an underscore."""
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    found = []
    for name in map(ast.unparse, node.bases):
        found += public_bases(classes[name], tree) if name.startswith("_") and name in classes else [name]
    return found


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def signature(node, of=""):
    """`name(arguments) -> type`, of a class the arguments of its making."""
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    if is_property(node):
        return f"{of}{node.name}"
    return f"{of}{node.name}({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def fields(node):
    """Return the typed fields of a class, each with the text below it: [(declaration, text)]."""
    found = []
    for member, below in zip(node.body, [*node.body[1:], None]):
        if isinstance(member, ast.AnnAssign) and not ast.unparse(member.target).startswith("_"):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            found.append((ast.unparse(member), " ".join(below.value.value.split()) if is_text else ""))
    return found


def class_page(node, tree):
    """Return the page of a class: how it is made, what it is, and its public members with docstrings."""
    functions = [member for member in node.body if isinstance(member, ast.FunctionDef)]
    made = next((f for f in functions if f.name == "__init__"), None)
    declaration = f"{node.name}({ast.unparse(made.args).removeprefix('self, ')})" if made else node.name
    bases = ", ".join(public_bases(node, tree))
    page = [f"## `fhd.{node.name}`", "", f"```python\n{declaration}\n```", f"\nA kind of `{bases}`." if bases else "", docstring(node)]
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    own = [classes[name] for name in map(ast.unparse, node.bases) if name.startswith("_") and name in classes]
    typed = [field for one in (*own, node) for field in fields(one)]
    if any(text for _, text in typed):
        page += ["", *listed(typed), ""]
    elif typed:
        page.append("\n```python\n" + "\n".join(declaration for declaration, _ in typed) + "\n```\n")
    for function in functions:
        if not function.name.startswith("_") and ast.get_docstring(function):
            page += [f"### `{node.name}.{function.name}`", "", f"```python\n{signature(function)}\n```", docstring(function)]
    return page


def listed(typed):
    """Return lines of a list of fields."""
    return [f"- `{declaration}`" + (f": {text}" if text else "").replace("<", "&lt;") for declaration, text in typed]


def options_of(node, package):
    """The fields of the dictionary that types **options of a function, and of those that it is made of."""
    if node.args.kwarg is None or node.args.kwarg.annotation is None:
        return []
    classes = {n.name: n for file in package.glob("*.py") for n in ast.parse(file.read_text()).body if isinstance(n, ast.ClassDef)}

    def all_fields(name):
        if name not in classes:
            return []
        return [field for base in classes[name].bases for field in all_fields(ast.unparse(base))] + fields(classes[name])

    return all_fields(ast.unparse(node.args.kwarg.annotation).removeprefix("Unpack[").removesuffix("]"))


def function_page(node, package):
    page = [f"## `fhd.{node.name}`", "", f"```python\n{signature(node)}\n```", docstring(node)]
    options = options_of(node, package)
    return page + (["Options, by their keywords:", "", *listed(options), ""] if options else [])


def reference(package):
    """The page of all that `import fhd` offers; package: the folder of its files."""
    page = ["# The Python package", ""]
    page += ["From its docstrings. How to use it, and its conventions: [fhd for Python](../../python/README.md).", ""]
    for name, (module, own) in sorted(exported(package).items(), key=lambda item: item[0].lower()):
        file = package / (module.removeprefix("fhd.") + ".py")
        if not file.is_file():
            page += [f"## `fhd.{name}`", "", told_by_the_module(package, name) or "A value of the compiled module.", ""]
            continue
        tree = ast.parse(file.read_text())
        node = next(n for n in tree.body if getattr(n, "name", None) == own)
        page += class_page(node, tree) if isinstance(node, ast.ClassDef) else function_page(node, package)
    return "\n".join(page)
