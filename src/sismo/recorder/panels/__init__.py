"""What is measured, one panel a file. A panel takes part by lying here and naming its class ``PANEL``."""
