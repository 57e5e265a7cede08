"""One more check for Schemathesis: what the schema takes is read.

Its own `positive_data_acceptance` wants such calls to succeed. Here a call may be read and still be refused: for a record
without a field that the model knows, for an Idempotency-Key or callbackId that was used before, for a cursor that no page
has given.
And two rules for bodies are said in words, as no schema can: they hold at any depth.
"""

import schemathesis

READ_AND_REFUSED = (
    "record",  # which of a record's fields the model cannot use
    "This Idempotency-Key was used",
    "This callbackId was used",
    "model_id is missing: put it in the body, or in the address",
    "cursor must be the next_cursor",
    "explain must be true, false, 1 or 0",
    "This is a HubSpot app event",
    "This is a Pipedrive webhook of version 1",
    "outcomes",  # which outcome has no date
    "A key in the body contains a NUL character",
    "The body is nested deeper than",
)


@schemathesis.check
def valid_data_is_read(ctx, response, case):
    """A call that the schema takes is not answered 400 or 422 for any other reason than those above."""
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    # In text/plain any text is valid to the schema; that it must be JSON is said in words.
    if not is_valid or response.status_code not in (400, 422) or case.media_type == "text/plain":
        return
    message = response.json()["error"]["message"]
    assert message.startswith(READ_AND_REFUSED), f"valid data was not read: {message}"
