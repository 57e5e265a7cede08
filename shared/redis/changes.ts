import type { Redis } from 'ioredis';
import { changesChannel } from './keys.js';

/** A change of stored data: gateways and workers invalidate their caches on it instead of seconds later. */
export interface Change {
  readonly kind: 'key' | 'organisation' | 'model' | 'validation';
  /** Hash of the key, or `everyKey`; `<model>:<version>` of a validation; the id for the other kinds. */
  readonly id: string;
}

/** The id of a change of all keys. */
export const everyKey = '*';

/** Publishes a change to all processes. Resolves when Redis has it. */
export async function publishChange(redis: Redis, change: Change): Promise<void> {
  await redis.publish(changesChannel, JSON.stringify(change));
}

/**
 * Subscribes to changes, on a dedicated connection.
 * @param options.onChange runs for each change
 * @param options.onGap runs after each (re)connection: changes may have been missed
 */
export async function subscribeToChanges(
  subscriber: Redis,
  { onChange, onGap }: { readonly onChange: (change: Change) => void; readonly onGap: () => void },
): Promise<void> {
  subscriber.on('message', (_channel, text) => {
    const change = parseChange(text);
    if (change !== undefined) onChange(change);
  });
  subscriber.on('ready', onGap);
  await subscriber.subscribe(changesChannel);
}

function parseChange(text: string): Change | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('kind' in value) || !('id' in value)) return undefined;
    const { kind, id } = value;
    if (typeof id !== 'string') return undefined;
    if (kind === 'key' || kind === 'organisation' || kind === 'model' || kind === 'validation') return { kind, id };
    return undefined;
  } catch {
    return undefined;
  }
}
