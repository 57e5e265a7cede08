"""A check for Schemathesis: a call that is valid by the schema is read, even if it is refused.

Schemathesis's own `positive_data_acceptance` requires such calls to succeed. Here a call can be refused if
the model knows no field of a record, a key was used before, or a cursor is foreign.

The rules on NUL characters and nesting hold at any depth of a body, which no schema can express.
"""

import schemathesis

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")

READ_AND_REFUSED = (
    "record",  # a record has fields that the model cannot use
    "This Idempotency-Key was used",
    "This callbackId was used",
    "model_id is missing: put it in the body, or in the address",
    "cursor must be the next_cursor",
    "explain must be true, false, 1 or 0",
    "This is a HubSpot app event",
    "This is a Pipedrive webhook of version 1",
    "outcomes",  # an outcome has no date
    "crm_id is missing: send the id under which",  # or the record of a tool holds it
    "The record has no field",  # that the address names as its outcome
    "outcome is missing: send won, lost",  # or the address names the field
    "others_lost needs won_values",
    "A job of stored leads has no file",  # members of the two kinds of jobs together
    "input.sent_within_days and input.max_rows select stored leads",
    "The header (line",  # a file without the columns
    "This call has JSON, and",
    "A key in the body contains a NUL character",
    "The body is nested deeper than",
    "The upload goes beyond",
    "The file is",  # empty, or too large
    "Upload-Length was",
)


def is_other_spelling(explain):
    """Whether the service reads a value of `explain` that the schema, a boolean, does not allow."""
    return not isinstance(explain, bool) and str(explain).strip().lower() in ("true", "false", "1", "0")


@schemathesis.hook
def filter_case(ctx, case):
    """Leaves out webhooks with `explain` in another spelling: only words document them."""
    bodies = case.body if isinstance(case.body, list) else [case.body]
    return not any(
        is_other_spelling(part["explain"])
        for part in [case.query, *bodies]
        if isinstance(part, dict) and "explain" in part
    )


@schemathesis.check
def valid_data_is_read(ctx, response, case):
    """Fails if a call that is valid by the schema gets 400 or 422 for any reason not listed above."""
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_valid or response.status_code not in (400, 422):
        return
    message = response.json()["error"]["message"]
    assert message.startswith(READ_AND_REFUSED), f"valid data was not read: {message}"
