import type { Middleware } from 'koa';

/**
 * Lets a reply that is ready before its request has arrived whole (a bad key, a body over the limit) be read: Node reads
 * on and throws away what still comes, where closing at once would reset the connection under a caller who is still
 * sending. Whoever has not finished after `bodyTimeoutMs` is cut off.
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
 * Cuts off a caller who has not read their reply after `replyTimeoutMs`: connection and reply would be kept for as long as
 * they hold on to it, and a replayed reply costs them nothing to ask for.
 */
export function boundUnreadReply(replyTimeoutMs: number): Middleware {
  return async ({ req, res }, next) => {
    await next();
    if (req.socket.destroyed) return;
    const cut = setTimeout(() => req.socket.destroy(), replyTimeoutMs);
    res.once('close', () => clearTimeout(cut));
  };
}
