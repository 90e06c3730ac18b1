"""One subcommand per file, named like it and offering it as ``COMMAND``. A module here imports click and nothing heavy at its top."""
