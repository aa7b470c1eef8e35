"""The tables: every module here without an underscore has TITLE and run(bench), which yields report.Row objects."""
