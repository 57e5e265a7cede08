import type { Socket } from 'node:net';
import type { Middleware } from 'koa';
import { areTooSmall } from '../../request/read-body.js';

/**
 * Limits how long a client may go on sending after it was answered early (a bad key, a body over the limit). The rest
 * of the body is discarded. Closing at once would reset the connection before the client reads its answer. A body in
 * too small chunks is not read to its end. Node takes 0.6 s of CPU time to parse half a million of them.
 */
export function boundUnreadBody(bodyTimeoutMs: number): Middleware {
  return async ({ req, res }, next) => {
    await next();
    if (req.complete || req.destroyed) return;
    const cut = setTimeout(() => req.destroy(), bodyTimeoutMs);
    req.once('close', () => clearTimeout(cut));
    let [chunks, bytes] = [0, 0];
    req.on('data', (chunk: Buffer) => {
      chunks += 1;
      bytes += chunk.length;
      if (!areTooSmall(chunks, bytes)) return;
      req.pause();
      if (res.writableFinished) req.destroy();
      else res.once('finish', () => req.destroy());
    });
  };
}

/**
 * Limits how long a client may take to read its reply. Connection and reply stay in memory until then, and replayed
 * replies cost the client nothing. A download (`context.state.isDownload`) may take any time while each period brings
 * it forward. It is written in small pieces, and the memory holds a few of them.
 */
export function boundUnreadReply(replyTimeoutMs: number): Middleware {
  return async (context, next) => {
    await next();
    const { req, res } = context;
    const { socket } = req;
    if (socket.destroyed) return;
    let sentBytes = sentBy(socket);
    const check = (): void => {
      const before = sentBytes;
      sentBytes = sentBy(socket);
      if (context.state.isDownload === true && sentBytes > before) cut = setTimeout(check, replyTimeoutMs);
      else socket.destroy();
    };
    let cut = setTimeout(check, replyTimeoutMs);
    res.once('close', () => clearTimeout(cut));
  };
}

/** Bytes that the system has taken from a socket. */
const sentBy = ({ bytesWritten, writableLength }: Socket): number => bytesWritten - writableLength;
