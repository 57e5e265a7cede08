/** Types of `find-server.mjs`, which is plain JavaScript because the set-up runs before anything is compiled. */
export type ServerName = 'redis' | 'mongo';

export const SERVERS: Readonly<
  Record<
    ServerName,
    { readonly program: string; readonly oldestMajor: number; readonly versionPattern: RegExp }
  >
>;

export function findServer(options: {
  readonly server: ServerName;
  readonly root: string;
  readonly searchPath?: string;
}): Promise<{ found: { path: string; version: string } | undefined; passedOver: string[] }>;

export function versionOf(options: {
  readonly server: ServerName;
  readonly path: string;
}): Promise<string | undefined>;
