"""What an evaluation found: as JSON, tables, plots and a page."""
