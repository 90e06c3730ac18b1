"""The command line: parse, call the library, render, return the exit code."""
