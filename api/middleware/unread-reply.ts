import type { Middleware } from 'koa';

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
