"""The probes as ``sismo probe`` offers them: one file each, named as the user names it, with ``run(case)``."""
