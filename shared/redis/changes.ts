import type { Redis } from 'ioredis';
import { changesChannel } from './keys.js';

/** What changed: gateways and workers forget what they remember of it at once, instead of seconds later. */
export interface Change {
  readonly kind: 'key' | 'organisation' | 'model' | 'validation';
  /** Hash of the key, or the id of the rest. */
  readonly id: string;
}

/** Tells every process about a change. Resolves when Redis has it. */
export async function publishChange(redis: Redis, change: Change): Promise<void> {
  await redis.publish(changesChannel, JSON.stringify(change));
}

/**
 * Listens for changes on a connection of its own.
 * @param onChange called for each change
 * @param onGap called whenever changes may have been missed: after each (re)connection
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
    if (typeof value !== 'object' || value === null || !('kind' in value) || !('id' in value))
      return undefined;
    const { kind, id } = value;
    if (typeof id !== 'string') return undefined;
    if (kind === 'key' || kind === 'organisation' || kind === 'model' || kind === 'validation')
      return { kind, id };
    return undefined;
  } catch {
    return undefined;
  }
}
