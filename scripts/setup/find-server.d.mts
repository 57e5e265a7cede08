/** Types of `find-server.mjs`, which is plain JavaScript: the set-up runs before the first build. */
export type ServerName = 'redis' | 'mongo';

export const servers: Readonly<
  Record<ServerName, { readonly program: string; readonly minMajor: number; readonly versionPattern: RegExp }>
>;

export function findServer(options: {
  readonly server: ServerName;
  readonly root: string;
  readonly searchPath?: string;
}): Promise<{ found: { path: string; version: string } | undefined; rejected: string[] }>;

export function versionOf(options: { readonly server: ServerName; readonly path: string }): Promise<string | undefined>;
