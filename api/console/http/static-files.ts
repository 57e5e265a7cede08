import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Context, Middleware } from 'koa';

/** A file of the browser's application, compressed once. */
interface StaticFile {
  readonly type: string;
  readonly isImmutable: boolean;
  /** By content coding; `identity` for the bytes themselves. */
  readonly bytes: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>>;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};
/** The bundler puts a hash of the content into the name. */
const hashedName = /[-.][0-9A-Za-z]{8,}\.\w+$/;
const page = '/index.html';
/** Where the application does not ask who is signed in: it would find the reply from before the sign-in. */
const signInPath = '/login';
/** The browser asks who is signed in while it loads the script, which needs the reply. */
const sessionPreload = '</admin/v1/session>; rel=preload; as=fetch; crossorigin';

/**
 * Serves the files of a folder, and its page at every other address without an extension: the application has its own
 * routes. All files are read at the start, so no address can name any other file.
 * @param folder may be missing: then nothing is served
 */
export function staticFiles(folder: string): Middleware {
  const files = readFiles(folder);
  return async (context, next) => {
    const isRead = context.method === 'GET' || context.method === 'HEAD';
    if (!isRead || context.path.startsWith('/admin/')) return await next();
    const file = files.get(context.path) ?? (extname(context.path) === '' ? files.get(page) : undefined);
    if (file === undefined) return await next();
    if (file === files.get(page) && context.path !== signInPath) context.set('Link', sessionPreload);
    serve(context, file);
  };
}

function serve(context: Context, { type, isImmutable, bytes }: StaticFile): void {
  const coding = context.acceptsEncodings('br', 'gzip', 'identity') || 'identity';
  context.set('Cache-Control', isImmutable ? 'public, max-age=31536000, immutable' : 'no-store');
  context.vary('Accept-Encoding');
  context.type = type;
  if (coding !== 'identity') context.set('Content-Encoding', coding);
  context.body = bytes[coding === 'br' || coding === 'gzip' ? coding : 'identity'];
}

function readFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  if (!existsSync(folder)) return files;
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(entry)];
    if (type === undefined) continue;
    const identity = readFileSync(join(folder, entry));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
    const bytes = { identity, gzip: gzipSync(identity, { level: 9 }), br: brotliCompressSync(identity, { params }) };
    files.set(`/${entry.replaceAll('\\', '/')}`, { type, isImmutable: hashedName.test(entry), bytes });
  }
  return files;
}
