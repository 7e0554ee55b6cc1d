"""The protocols of the prun scripts: one dispatch, waiting for results, watching dispatches.

Coordinators (shell loops, sessions of an agent) that were written for those scripts find the same
lines, exit statuses, environment variables and files here.
"""
