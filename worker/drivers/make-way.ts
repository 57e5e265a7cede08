import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';

/** Batches pause when a single came within this time. */
const besideSinglesMs = 1_000;
/** Enough for the round trips of a single. */
const pauseMs = 5;
/** The longest pause while singles are in flight. A single may wait for MongoDB for seconds. */
const maxPauseMs = 60;

/** Set in the work of singles. */
const ofSingles = new AsyncLocalStorage<true>();
let singlesInFlight = 0;
let lastSingleMs = Number.NEGATIVE_INFINITY;

/** Runs the work of a chunk of singles. The slices of batches make way for it. */
export async function asSingles<Result>(work: () => Promise<Result>): Promise<Result> {
  singlesInFlight += 1;
  try {
    return await ofSingles.run(true, work);
  } finally {
    singlesInFlight -= 1;
    lastSingleMs = performance.now();
  }
}

interface WaitingBatch {
  /** Length of its last slice. */
  readonly tookMs: number;
  readonly start: () => void;
}

/** The batches that wait for their next slice, in the order of arrival. */
const waiting: WaitingBatch[] = [];
let areTakingTurns = false;

/**
 * Waits for the turn of the next slice. A single takes several turns of the event loop, each of which would last as long
 * as the slices of all batches. So batches have one slice at a time, and pause before it while singles come.
 * @param tookMs length of the slice before
 */
export async function makeWay(tookMs: number): Promise<void> {
  if (ofSingles.getStore() !== undefined) return await nextTurn();
  const turn = new Promise<void>((resolve) => {
    waiting.push({ tookMs, start: resolve });
  });
  if (!areTakingTurns) void takeTurns();
  await turn;
}

async function takeTurns(): Promise<void> {
  areTakingTurns = true;
  for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
    await pause(batch.tookMs);
    batch.start();
    // The slice runs before the next turn of the event loop.
    await nextTurn();
  }
  areTakingTurns = false;
}

/** Pauses, and goes on while singles are in flight, up to the length of the slice. */
async function pause(tookMs: number): Promise<void> {
  const areNear = singlesInFlight > 0 || performance.now() - lastSingleMs < besideSinglesMs;
  if (!areNear) return await nextTurn();
  const mostMs = Math.min(tookMs, maxPauseMs);
  for (let pausedMs = 0; pausedMs === 0 || (singlesInFlight > 0 && pausedMs < mostMs); pausedMs += pauseMs)
    await wait(pauseMs);
}
