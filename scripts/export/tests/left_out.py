"""What is said of a test that cannot be run here."""


def left_out(reason: str, *, to_run: str) -> str:
    return f"{reason}. To have it run: {to_run}"
