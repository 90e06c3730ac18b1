"""Writers of the formats that real loggers leave behind, one file each; every file offers ``FORMAT``."""
