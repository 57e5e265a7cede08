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
/** For each page a pattern of its addresses, and the scripts that it needs beside those of all pages. */
const scriptsFile = 'page-scripts.json';

/**
 * Serves the files of a folder, and its page at every other address without an extension: the application has its own
 * routes. All files are read at the start, so no address can name any other file.
 * @param folder may be missing: then nothing is served
 */
export function staticFiles(folder: string): Middleware {
  const files = readFiles(folder);
  const scriptsOf = readPageScripts(folder);
  return async (context, next) => {
    const isRead = context.method === 'GET' || context.method === 'HEAD';
    if (!isRead || context.path.startsWith('/admin/')) return await next();
    const file = files.get(context.path) ?? (extname(context.path) === '' ? files.get(page) : undefined);
    if (file === undefined) return await next();
    // The browser would otherwise ask for the scripts of the page after it has read the first one.
    if (file === files.get(page) && context.path !== signInPath)
      context.set('Link', [sessionPreload, ...scriptsOf(context.path)].join(', '));
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

/** @returns the links to the scripts of the page at an address, which the browser loads with the page */
function readPageScripts(folder: string): (path: string) => readonly string[] {
  const file = join(folder, scriptsFile);
  if (!existsSync(file)) return () => [];
  const entries = JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly [pattern: string, scripts: string[]])[];
  const links = entries.map(
    ([pattern, scripts]) => [new RegExp(pattern), scripts.map((script) => `<${script}>; rel=modulepreload`)] as const,
  );
  return (path) => links.find(([pattern]) => pattern.test(path))?.[1] ?? [];
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
