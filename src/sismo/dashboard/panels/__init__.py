"""One panel of the page per module, offered as ``PANEL``; none imports another."""
