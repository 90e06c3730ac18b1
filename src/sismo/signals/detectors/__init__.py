"""One signal, or one small family of signals, per file. They never import each other."""
