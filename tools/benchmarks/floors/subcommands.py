"""A command line of 22 subcommands and nothing behind it."""

import argparse

parser = argparse.ArgumentParser(prog="floor")
commands = parser.add_subparsers()
for number in range(22):
    command = commands.add_parser(f"command{number}", help="does something")
    command.add_argument("--model", help="model to use")
    command.add_argument("--config", help="settings to use")
parser.parse_args()
