"""A post-mortem in seven parts as Markdown and HTML, with its pictures; a person's own words in it are kept."""
