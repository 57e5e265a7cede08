import type { Socket } from 'node:net';
import type { Middleware } from 'koa';
import { areTooSmall } from '../../request/read-body.js';
import { turnBytes, type UnusedBytes } from '../unused-bytes.js';

/**
 * Limits what a client may go on sending after it was answered early (a bad key, a body over the limit), and for how
 * long. The rest of the body is discarded, in turns of `unused`. Closing at once would reset the connection before the
 * client reads its answer. The answer waits for the first turn: many clients send the next body after it, and would
 * soon have hundreds on their way. A body in too small chunks is not read to its end. Node takes 0.6 s of CPU time to
 * parse half a million of them.
 */
export function boundUnreadBody(bodyTimeoutMs: number, unused: UnusedBytes): Middleware {
  return async (context, next) => {
    await next();
    const { req, res } = context;
    if (req.complete || req.destroyed) return;
    const cut = setTimeout(() => req.destroy(), bodyTimeoutMs);
    req.once('close', () => clearTimeout(cut));
    const destroyAnswered = (): void => {
      if (res.writableFinished) req.destroy();
      else res.once('finish', () => req.destroy());
    };
    let [chunks, bytes, endOfTurn] = [0, 0, 0];
    const pauseForTurn = async (): Promise<void> => {
      endOfTurn = bytes + turnBytes;
      await unused.pauseForTurn(req, req, bodyTimeoutMs).catch(destroyAnswered);
    };
    req.on('data', (chunk: Buffer) => {
      chunks += 1;
      bytes += chunk.length;
      if (areTooSmall(chunks, bytes)) {
        req.pause();
        destroyAnswered();
      } else if (bytes >= endOfTurn) void pauseForTurn();
    });
    await pauseForTurn();
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
