/**
 * Measures a duration in beats of a timer while `work` runs. A process without a CPU counts at most one beat in that
 * time. A limit in beats therefore does not depend on the load of the machine.
 */
export async function beatsDuring(work: () => Promise<unknown>, everyMs = 50): Promise<number> {
  let beats = 0;
  const timer = setInterval(() => {
    beats += 1;
  }, everyMs);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return beats;
}

/**
 * The CPU time in ms of the longest turn of the event loop while `work` runs. Unlike wall time it hardly depends on the
 * load of the machine, but it includes what other threads of the process used meanwhile.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longestUs = 0;
  let before = process.cpuUsage();
  let isOver = false;
  const turn = (): void => {
    const { user, system } = process.cpuUsage(before);
    longestUs = Math.max(longestUs, user + system);
    before = process.cpuUsage();
    if (!isOver) setImmediate(turn);
  };
  turn();
  try {
    await work();
  } finally {
    isOver = true;
  }
  return longestUs / 1_000;
}
