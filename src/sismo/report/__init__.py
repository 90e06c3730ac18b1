"""How a post-mortem is shown: text, JSON, Markdown, in English and Spanish. Renderers print what they are given and judge nothing."""
