"""Where people already are: one framework or tracker a file. Each imports its library when it is used."""
