/** The lanes whose calls have a caller that waits. */
export const interactiveLanes = ['singles', 'batches'] as const;
export type InteractiveLane = (typeof interactiveLanes)[number];

/**
 * The queues of a partition. A worker process serves one lane. So batches never delay singles, and bulk jobs delay
 * neither.
 */
export const lanes = [...interactiveLanes, 'bulk'] as const;
export type Lane = (typeof lanes)[number];
