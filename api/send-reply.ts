import type { Context } from 'koa';
import type { Reply } from './replays.js';

/** Sends the JSON of a 200, and says so when it was sent before. */
export function sendReply(context: Context, { body, isReplay }: Reply): void {
  if (isReplay) context.set('Idempotent-Replayed', 'true');
  context.type = 'application/json';
  context.body = body;
}
