/** What a child tells its pool, over the process channel. */
export type ChildMessage = { readonly kind: 'ready' } | { readonly kind: 'alive' };

/** How often a child says that its event loop turns. */
export const aliveIntervalMs = 500;

/** Whether something that came over the channel is a message of a child. */
export function isChildMessage(message: unknown): message is ChildMessage {
  if (typeof message !== 'object' || message === null || !('kind' in message)) return false;
  return message.kind === 'ready' || message.kind === 'alive';
}
