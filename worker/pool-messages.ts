/** What a child tells its pool, over the process channel. */
export interface ChildMessage {
  /** `ready`: it takes jobs. `alive`: its event loop turns. `worn`: it is alive and wants to be replaced. */
  readonly kind: 'ready' | 'alive' | 'worn';
  /** Cells of records that could not be read since the message before. */
  readonly unreadable: number;
}

/** How often a child says that its event loop turns. */
export const aliveIntervalMs = 500;

/** Whether something that came over the channel is a message of a child. */
export function isChildMessage(message: unknown): message is ChildMessage {
  if (typeof message !== 'object' || message === null || !('kind' in message)) return false;
  if (!('unreadable' in message) || typeof message.unreadable !== 'number') return false;
  return message.kind === 'ready' || message.kind === 'alive' || message.kind === 'worn';
}
