import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';

/** A text that is sent as it is, again and again. */
export interface PreparedText {
  readonly contentType: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Long enough to spare calls, short enough that a new release is soon seen. */
const cacheControl = 'public, max-age=300';

/**
 * Sends a text that is made once, at the first call; whoever has it already is told so (304).
 * @param prepare makes the text; not before the address of the service is known
 */
export function preparedTextRoute(prepare: () => PreparedText): Middleware {
  const prepared = once(() => {
    const { text, ...rest } = prepare();
    const bytes = Buffer.from(text);
    return { ...rest, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
  });
  return (context) => {
    const { contentType, bytes, etag, headers } = prepared();
    context.set({
      ...headers,
      ETag: etag,
      'Cache-Control': cacheControl,
      'X-Content-Type-Options': 'nosniff',
    });
    context.status = 200;
    if (context.fresh) {
      context.status = 304;
      return;
    }
    context.type = contentType;
    context.body = bytes;
  };
}

/** Makes a value at the first call, and gives the same one ever after. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
