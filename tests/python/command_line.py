"""A command of the command line in this process."""

from renyi.cli import main


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return code, captured.out, captured.err
