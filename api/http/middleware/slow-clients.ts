import type { Middleware } from 'koa';

/**
 * Limits how long a client may go on sending after it was answered early (a bad key, a body over the limit). Node reads
 * and discards the rest of the body. Closing at once would reset the connection before the client reads its answer.
 */
export function boundUnreadBody(bodyTimeoutMs: number): Middleware {
  return async ({ req }, next) => {
    await next();
    if (req.complete || req.destroyed) return;
    const cut = setTimeout(() => req.destroy(), bodyTimeoutMs);
    req.once('close', () => clearTimeout(cut));
  };
}

/**
 * Limits how long a client may take to read its reply. Connection and reply stay in memory until then, and replayed
 * replies cost the client nothing.
 */
export function boundUnreadReply(replyTimeoutMs: number): Middleware {
  return async ({ req, res }, next) => {
    await next();
    if (req.socket.destroyed) return;
    const cut = setTimeout(() => req.socket.destroy(), replyTimeoutMs);
    res.once('close', () => clearTimeout(cut));
  };
}
