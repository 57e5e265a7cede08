/** With these, Redis answers, and does not let the process in. */
const notLetIn = /^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|AUTH ))/;

/**
 * Why there is no connection to Redis, and what to check.
 * @param last the last error that the connection met; of a cluster, the one that a node gave goes before
 */
export function noConnection(last: Error | undefined): Error {
  const cause = last instanceof Error && 'lastNodeError' in last ? last.lastNodeError : last;
  const reason = cause instanceof Error ? cause.message : undefined;
  if (reason !== undefined && notLetIn.test(reason))
    return new Error(
      `Redis did not let this process in: check the user and the password in REDIS_URL (${reason})`,
      { cause },
    );
  const said = reason === undefined ? '' : ` (${reason})`;
  return new Error(`Redis did not answer: check REDIS_URL, and that the server is running${said}`, { cause });
}
