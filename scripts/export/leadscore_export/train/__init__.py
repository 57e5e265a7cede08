"""Trains a model on past leads: `python -m leadscore_export.train leads.csv --converted Won`.

It writes FOLDER/bundle/, FOLDER/report.html and FOLDER/training.json in one rename, or nothing.

Exit codes:

- 0: the folder is written.
- 1: the leads or the files are refused. The error has a code of `command/failures.py`.
- 2: an option is wrong. The code is `usage`.
- 130: the process was interrupted by SIGINT or SIGTERM. Nothing is left.

With `--json-lines`, each line of standard output is one JSON object with one member.

- `{"progress": {"step": "search", "text": "trying 16 leaves", "share": 0.42, "seconds_left": 31}}`

  Steps are read, prepare, leaks, search, fit, export and write. `share` is that of the whole run. It goes
  from 0 to 1, and never falls. `seconds_left` is null while it cannot be estimated.

- `{"note": "12 rows have no readable outcome and are left out"}`

  A sentence for a person. `training.json` repeats it.

- `{"fields": [{"field": "Tag", "auc": 0.9, "r2": 0.6, "filled_won": 1, "filled_lost": 1, "suspect": null}]}`

  How each field ranks alone, the best first. `suspect` is the reason or null.

- `{"ask": {"about": "Tags", "question": "Was Tags known when the lead was scored?"}}`

  Only with `--ask`. The next line of standard input answers: y for yes, anything else for no.

- `{"done": {"folder": "leads-model", "bundle": "...", "report": "...", "training": {}}}`

  The last line after success. `training` is the contents of training.json.

- `{"error": {"code": "one_class", "message": "...", "context": {}}}`

  The last line after a failure. `context` may be absent. `context.confirm` holds the options that answer the
  open questions with yes, such as `["--keep", "Tags"]`.

Without `--json-lines`, standard output gets the summary, and standard error the progress and the error.
Standard error may hold further text of libraries. It matters only after another exit code.
"""
