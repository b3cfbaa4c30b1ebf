"""The options of the package are known to help(), to completion and to type checkers, from the table of the program."""

import ast
import builtins
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import fhd
from fhd import checks, option_types, signatures

HERE = pathlib.Path(__file__).parent


def test_option_types_are_those_of_the_table():
    stored = pathlib.Path(option_types.__file__).read_text()
    assert stored == signatures.source(), f"write it anew, as the docstring of {signatures.__name__} says"


def test_the_stub_of_the_compiled_module_has_its_names():
    stub = ast.parse(pathlib.Path(fhd.__file__).with_name("_native.pyi").read_text())
    names = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert names == {name for name in dir(fhd._native) if not name.startswith("_")}


def test_every_option_has_a_type_that_python_knows():
    for options in (signatures.options_of(), signatures.options_of(of_files=True)):
        for option in options.values():
            names = {node.id for node in ast.walk(ast.parse(option.type)) if isinstance(node, ast.Name)}
            assert names <= {*vars(option_types), *vars(builtins)}, option


@pytest.mark.parametrize(
    "value, expected",
    [
        ("", "bool"),
        ("N", "int"),
        ("NUMBER|auto", "float | Literal['auto']"),
        ("{single,double}", "Literal['single', 'double']"),
        ("auto|1/m|kmax", "Literal['auto', '1/m', 'kmax']"),
        ("{1,2,auto}", "Literal['1', 1, '2', 2, 'auto']"),
        ("self|physiology|FILE", "Path | Literal['self', 'physiology']"),
    ],
)
def test_a_value_of_the_help_becomes_a_type(value, expected):
    assert signatures.type_of(value) == expected


@pytest.mark.parametrize("function, of_files", [(fhd.recon, False), (fhd.read, True)])
def test_help_and_signature_list_every_option(function, of_files):
    parameters = inspect.signature(function).parameters
    documented = inspect.getdoc(function)
    for name, option in signatures.options_of(of_files).items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY and parameters[name].default == option.default
        assert f"\n{name}: {option.type}\n" in documented
    assert "--" not in documented


def test_reconstruct_lists_the_arguments_of_a_scan_and_the_options_of_reconstructions():
    of_scan = set(inspect.signature(fhd.Scan).parameters)
    listed = set(inspect.signature(fhd.reconstruct).parameters)
    assert of_scan <= listed and {"lambda_", "regularizer", "progress", "device"} <= listed
    assert "zeros" not in listed  # of files


def test_defaults_of_signatures_are_taken_as_options(radial):
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(fhd.recon).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
        and name not in signatures.options_of(of_files=True)
        and name != "prior_strength"  # refused without a prior
    }
    image = fhd.recon(radial, **defaults).image
    assert (image == fhd.recon(radial).image).all()


def test_notebooks_complete_keywords():
    completer = pytest.importorskip("IPython.core.completer")
    IPython = pytest.importorskip("IPython")
    shell = IPython.InteractiveShell.instance()
    shell.user_ns.update(fhd=fhd)
    with completer.provisionalcompleter():
        for start, expected in [("fhd.recon('a', reg", "regularizer="), ("fhd.read('a', traj", "trajectory_unit=")]:
            assert expected in {found.text for found in shell.Completer.completions(start, len(start))}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Return a function that checks a file as a user does whose Python has the package."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")

    def check(file):
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "--no-error-summary", file]
        done = subprocess.run(command, capture_output=True, text=True, cwd=cache)
        return done.stdout + done.stderr

    return check


def test_a_script_with_options_is_strictly_typed(mypy):
    assert mypy(HERE / "typed_user.py") == ""


def test_that_script_runs(radial, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "typed_user.py", radial, tmp_path / "out"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "explained" in done.stdout, done.stderr


def test_mistakes_are_found_by_types(mypy, tmp_path):
    mistakes = {
        "fhd.recon('a', lamda=3)": 'Unexpected keyword argument "lamda"',
        "fhd.recon('a', lambda_='much')": "lambda_",
        "fhd.recon('a', coils='espirt')": "coils",
        "fhd.recon('a', iterations=1.5)": "iterations",
        "fhd.recon('a', regularizer={'wavlet': 0.1})": "Dict entry",
        "fhd.read('a', lambda_=3)": 'Unexpected keyword argument "lambda_"',
        "fhd.reconstruct(0, 0, (8, 8), zeros='auto')": 'Unexpected keyword argument "zeros"',
        "fhd.recon('a').verdict.judgement": "judgement",
        "fhd.NDFT(0, (8, 8)).normall": "normall",
    }
    file = tmp_path / "mistakes.py"
    file.write_text("import fhd\n" + "\n".join(mistakes))
    lines = mypy(file).splitlines()
    for number, expected in enumerate(mistakes.values(), 2):
        told = [line for line in lines if re.match(rf".*mistakes\.py:{number}: error", line)]
        assert any(expected in line for line in told), (number, lines)


def test_certificates_and_verdicts_have_the_fields_of_the_report(radial):
    result = fhd.recon(radial)

    def check(found, of):
        names = set(of.__annotations__)
        assert names - set(found) <= set(checks._WhereKnown.__annotations__) and set(found) <= names

    check(result.certificate, checks.Certificate)
    check(result.verdict, checks.Verdict)
    check(result.verdict["by_radius"][0], checks.Misfit)
    check(result.verdict["changes"][0], checks.Finding)
    assert result.verdict["judgement"] in checks.Judgement.__args__
